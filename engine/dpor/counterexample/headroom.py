"""Whether there is room for the calls that recording a step takes, where a model is about to run out of it."""

from __future__ import annotations


def descend(levels: int) -> None:
    """Call so many functions within each other. Raises RecursionError if the interpreter's limit is nearer."""
    if levels:
        descend(levels - 1)
