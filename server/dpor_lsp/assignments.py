"""`--set NAME=VALUE`: values for model parameters, typed as their defaults are."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import ModelInfo
from dpor_lsp.options import did_you_mean

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """Split `NAME=VALUE` texts; a later one for the same name wins.

    Raises DporError (DPOR106) for a text of another shape.
    """
    assignments: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise DporError(Code.BAD_PARAMETER, f"--set does not accept {text!r}", "write --set NAME=VALUE")
        assignments[name.strip()] = value.strip()
    return assignments


def check_names(models: Sequence[ModelInfo], assignments: Mapping[str, str]) -> None:
    """Make sure that each assigned name is a parameter of at least one of the models.

    Raises DporError (DPOR106) with the nearest name otherwise.
    """
    known = sorted({name for model in models for name in model.parameters})
    for name in assignments:
        if models and name not in known:
            accepted = f"the parameters are {', '.join(known)}" if known else "they have no parameters"
            raise DporError(
                Code.BAD_PARAMETER,
                f"none of the models has a parameter {name!r}",
                did_you_mean(name, known) + accepted,
            )


def assigned_parameters(model: ModelInfo, assignments: Mapping[str, str]) -> dict[str, Any]:
    """Return the values for those of the model's parameters that are assigned, each of its default's type.

    Raises DporError (DPOR106) for a value of another type.
    """
    return {
        name: _typed(name, text, model.parameters[name])
        for name, text in assignments.items()
        if name in model.parameters
    }


def _typed(name: str, text: str, default: object) -> Any:
    if isinstance(default, bool) and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        value: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    if isinstance(default, str):
        return value if isinstance(value, str) else text
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if default is None or type(value) is type(default):
        return value
    kind = type(default).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    raise DporError(
        Code.BAD_PARAMETER,
        f"parameter {name!r} does not accept {text!r}",
        f"its default is {default!r}, so it takes {article} {kind}",
    )
