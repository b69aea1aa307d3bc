"""`--set NAME=VALUE`: values for model parameters, typed as their defaults are."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError
from dpor.options import shown_value
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


def assigned_parameters(
    model: ModelInfo, assignments: Mapping[str, str], read_source: Callable[[], str | bytes]
) -> dict[str, Any]:
    """Return the values for those of the model's parameters that are assigned, each of its default's type.

    `read_source` gives the text of the model's file; it is only called where the type is in doubt. Raises DporError
    (DPOR106) for a value of another type.
    """
    values: dict[str, Any] = {}
    for name, text in assignments.items():
        if name not in model.parameters:
            continue
        default = model.parameters[name]
        # A default that is no literal is known by its source text, which looks like a string.
        if isinstance(default, str) and not _is_string_literal(read_source(), model.line, name):
            default = None
        values[name] = _writable(name, text, _typed(name, text, default))
    return values


def _is_string_literal(source: str | bytes, line: int, name: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno == line:
            arguments = node.args
            positional = [*arguments.posonlyargs, *arguments.args][::-1]
            pairs = [*zip(positional, arguments.defaults[::-1], strict=False)]
            pairs += [
                (argument, default)
                for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                if default is not None
            ]
            return any(
                argument.arg == name and isinstance(default, ast.Constant) and isinstance(default.value, str)
                for argument, default in pairs
            )
    return True


def _writable(name: str, text: str, value: Any) -> Any:
    """Return the value, if it can be handed to a worker. Raises DporError (DPOR106)."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        raise DporError(
            Code.BAD_PARAMETER,
            f"parameter {name!r} does not accept {text!r}",
            "give it a number, a string, a truth value, None, or a list of those",
        ) from None
    return value


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
        try:
            return float(value)
        except OverflowError:
            value = text
    if default is None or type(value) is type(default):
        return value
    kind = type(default).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    raise DporError(
        Code.BAD_PARAMETER,
        f"parameter {name!r} does not accept {text!r}",
        f"its default is {shown_value(default)}, so it takes {article} {kind}",
    )
