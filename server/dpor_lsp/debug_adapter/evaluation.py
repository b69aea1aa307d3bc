"""Answering what a name or a simple expression is, from what was recorded and from nothing else."""

from __future__ import annotations

import re

from dpor_lsp.debug_adapter.timeline import Timeline

_NAME = r"[^\W\d]\w*"
_EXPRESSION = re.compile(rf"{_NAME}(#\d+)?((\.{_NAME})|(\[[^\[\]]+\]))*")
_PART = re.compile(rf"^{_NAME}(?:#\d+)?|\.{_NAME}|\[[^\[\]]+\]")
_OBJECT = re.compile(rf"{_NAME}#\d+(\.{_NAME}|\[[^\[\]]+\])*")


def variable_of(timeline: Timeline, expression: str, position: int, local: dict[str, str]) -> str | None:
    """Return the name of the state that an expression means: `self.value` is `Counter#1.value`.

    `local` are the local variables to begin from. None if nothing of that name was recorded.
    """
    text = expression.strip()
    if timeline.has_variable(text):
        return text
    if _EXPRESSION.fullmatch(text) is None:
        return None
    parts = [found[0] for found in _PART.finditer(text)]
    current = local.get(parts[0], parts[0])
    for number, part in enumerate(parts[1:], start=1):
        name = current + part
        if not timeline.has_variable(name):
            return None
        if number == len(parts) - 1:
            return name
        value = timeline.value(name, position)
        # A container is called after what holds it, an object by its own name.
        current = value if value is not None and _OBJECT.fullmatch(value) else name
    return None


def recorded_value(timeline: Timeline, expression: str, position: int, local: dict[str, str]) -> str | None:
    """Return the recorded value of a local variable or of state; None if there is none at this position."""
    text = expression.strip()
    if text in local:
        return local[text]
    variable = variable_of(timeline, text, position, local)
    return None if variable is None else timeline.value(variable, position)
