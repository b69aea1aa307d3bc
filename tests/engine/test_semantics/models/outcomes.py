"""How a model tells what happened in an execution: each different outcome is a violation of its own."""


class Outcome(Exception):
    """What an execution came to; a class for each outcome, since reports tell violations apart by class."""


def outcome(*values):
    """End the model, saying what it came to."""
    raise type(" ".join(str(value) for value in values), (Outcome,), {})
