"""Instruments expressions that a program evaluates from text (`eval`)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from dpor._kernel import Cell
from dpor.instrument.calls import FRAME_BUILTINS
from dpor.instrument.transformer import future_features, instrument_expression

if TYPE_CHECKING:
    from dpor._kernel import Host

_FILE = "<string>"
_Key = tuple[str | bytes, int, frozenset[str], frozenset[str]]
"""The text, the compiler's flags, the local variables, and those of them that functions share."""


class Texts:
    """What expressions from text are compiled to. `host` is told of their code."""

    def __init__(self, host: Host) -> None:
        self._host = host
        # Equal text is the same code: each execution may evaluate it again.
        self._compiled: dict[_Key, CodeType] = {}

    def install(self) -> None:
        """Have the host ask for code."""
        self._host.use_texts(self.code)

    def code(self, text: str | bytes, variables: object, local: object) -> CodeType | None:
        """The code of an expression that the calling frame evaluates with these variables, and these local ones (None:
        those of the frame).

        It is None where what the expression reads could not be seen: its variables are not those of an instrumented
        module, it has a mapping of its own for local ones, it binds one, or it reads one that
        functions share. Raises what `eval` raises for the text.
        """
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        namespace: Any = frame.f_globals if variables is None else variables
        if type(namespace) is not dict or not self._host.is_instrumented(cast("dict[str, Any]", namespace)):
            return None
        if local is None and variables is None:
            local = frame.f_locals
        elif local is not None and local is not namespace:
            return None
        names: Mapping[str, object] = {} if local is None or local is namespace else dict(local)  # pyright: ignore
        flags = future_features(frame.f_code)
        cells = frozenset(name for name, value in names.items() if isinstance(value, Cell))
        key = (text, flags, frozenset(names), cells)
        known = self._compiled.get(key)
        if known is None:
            known = self._compile(text, flags, frozenset(names), cells)
            if known is None:
                return None
            self._compiled[key] = known
            self._host.tell_instrumented(known)
        return known

    def _compile(
        self, text: str | bytes, flags: int, local: frozenset[str], cells: frozenset[str]
    ) -> CodeType | None:
        # As `eval` has it; it raises what `eval` raises.
        text = text.lstrip(" \t") if isinstance(text, str) else text.lstrip(b" \t")
        compile(text, _FILE, "eval", flags, dont_inherit=True)
        tree = ast.parse(text, _FILE, "eval")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        # `eval` reads what functions share when it begins, and not where it stands in the expression.
        if used & cells or any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree)):
            return None
        expression = instrument_expression(tree, frozenset(used - FRAME_BUILTINS), local)
        return compile(expression, _FILE, "eval", flags, dont_inherit=True, optimize=0)
