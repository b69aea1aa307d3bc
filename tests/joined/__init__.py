"""Steps that are joined into one event (turns of event loops, critical sections), compared with single steps."""
