"""From a violating execution to what a person understands: recording, naming, slicing, text, replay."""
