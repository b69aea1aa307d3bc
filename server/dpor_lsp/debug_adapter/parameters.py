"""The types of requests' arguments: what is of another type is refused before a handler sees it.

Source: https://microsoft.github.io/debug-adapter-protocol/specification
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from dpor_lsp.debug_adapter.answers import Arguments, RefusedError, shown

Shape = type | list["Shape"] | Mapping[str, "Shape"]
"""A type; a list with what its items are; or an object with the types of its fields, all of which may be absent."""

_SOURCE: Shape = {"name": str, "path": str, "sourceReference": int}
_THREAD: Shape = {"threadId": int, "singleThread": bool, "granularity": str}

_SHAPES: Mapping[str, Shape] = {
    "initialize": {
        "linesStartAt1": bool,
        "columnsStartAt1": bool,
        "pathFormat": str,
        "supportsProgressReporting": bool,
    },
    "restart": {"arguments": {}},
    "next": _THREAD,
    "stepIn": _THREAD,
    "stepOut": _THREAD,
    "stepBack": _THREAD,
    "continue": _THREAD,
    "reverseContinue": _THREAD,
    "pause": _THREAD,
    "gotoTargets": {"source": _SOURCE, "line": int, "column": int},
    "goto": {"threadId": int, "targetId": int},
    "dpor/step": {"step": int},
    "stackTrace": {"threadId": int, "startFrame": int, "levels": int},
    "scopes": {"frameId": int},
    "variables": {"variablesReference": int, "start": int, "count": int},
    "evaluate": {"expression": str, "frameId": int, "context": str},
    "exceptionInfo": {"threadId": int},
    "source": {"source": _SOURCE, "sourceReference": int},
    "setBreakpoints": {
        "source": _SOURCE,
        "breakpoints": [{"line": int, "column": int}],
        "lines": [int],
        "sourceModified": bool,
    },
    "breakpointLocations": {"source": _SOURCE, "line": int, "endLine": int},
    "dataBreakpointInfo": {"variablesReference": int, "name": str, "frameId": int},
    "setDataBreakpoints": {"breakpoints": [{"dataId": str, "accessType": str}]},
    "setExceptionBreakpoints": {"filters": [str], "filterOptions": [{"filterId": str}]},
}
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "evaluate": ("expression",),
    "dataBreakpointInfo": ("name",),
    "setBreakpoints": ("source",),
    "setDataBreakpoints": ("breakpoints",),
    "setExceptionBreakpoints": ("filters",),
}
_NAMES: Mapping[type, str] = {int: "an integer", str: "a string", bool: "true or false"}


def checked(command: str, given: object) -> Arguments:
    """The arguments of a request, without what is null. Raises RefusedError for what is of a wrong type or missing.

    Fields that this adapter does not read are left as they are.
    """
    if given is None:
        given = {}
    found = cast("dict[str, Any]", _checked("the arguments", given, _SHAPES.get(command, {})))
    for name in _REQUIRED.get(command, ()):
        if name not in found:
            raise RefusedError(f"the argument {name!r} is missing")
    return found


def _checked(name: str, value: object, shape: Shape) -> object:
    if isinstance(shape, type):
        # True is an int to Python, but not to JSON.
        if type(value) is not shape:
            raise RefusedError(f"{name} must be {_NAMES[shape]}, not {shown(value)}")
        return value
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise RefusedError(f"{name} must be a list, not {shown(value)}")
        items = cast("list[object]", value)
        return [_checked(f"{name}[{number}]", item, shape[0]) for number, item in enumerate(items)]
    if not isinstance(value, dict):
        raise RefusedError(f"{name} must be an object, not {shown(value)}")
    fields = {key: item for key, item in cast("dict[str, object]", value).items() if item is not None}
    for key, inner in shape.items():
        if key in fields:
            fields[key] = _checked(f"the argument {key!r}", fields[key], inner)
    return fields
