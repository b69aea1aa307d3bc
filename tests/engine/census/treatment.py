"""What the host takes each callable of the census for, asked in a model that is being explored."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from census import names
from dpor._kernel import ControlledCall
from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict
from dpor.runtime.current import current_host

Entry = tuple[str, str, str]
_ASKING = "census_asking"
_MODEL = """
import {imports}
import dpor
import {asking}

class Kept:
    pass

@dpor.model
def asked():
    {asking}.ask({{{makers}}})
"""
# How a call is treated, by the mark that it has in the census; all other treatments are precise.
_MARKS = {
    "passes": "harmless",
    "Write": "worst-case",
    "WriteWhole": "worst-case",
    "WriteByOrder": "worst-case",
    "Foreign": "worst-case",
    "ForeignFunction": "assumed",
    "refused": "refused",
}


def mark(treatment: str) -> str:
    """The mark of what is treated so."""
    return _MARKS.get(treatment, "precise")


def treatments(folder: Path) -> dict[str, str]:
    """How each callable of the census is treated in this interpreter, by name."""
    found: dict[str, str] = {}
    # By the names that the modules have outside of a check.
    of_modules, of_types = [*names.of_modules()], [*names.of_types()]
    asking: Any = ModuleType(_ASKING)
    # Somebody else's, so that nothing of it is instrumented.
    asking.ask = lambda made: found.update(_asked(made, of_modules, of_types))
    makers = ", ".join(f"{kind!r}: {made}" for kind, made in names.MAKERS.items())
    text = _MODEL.format(imports=names.MODULES_OF_MAKERS, makers=makers, asking=_ASKING)
    (folder / "census_model.py").write_text(text, encoding="utf-8")
    sys.modules[_ASKING] = asking
    try:
        result = check_model(CheckRequest("census_model.py", "asked", str(folder)))
    finally:
        del sys.modules[_ASKING]
    assert result.verdict is Verdict.VERIFIED, result
    return found


def _asked(made: dict[str, Any], of_modules: list[Entry], of_types: list[Entry]) -> dict[str, str]:
    host: Any = current_host()
    found = {entry: _treatment(host.method, sys.modules[module], name) for entry, module, name in of_modules}
    return found | {entry: _treatment(host.method, made[kind], name) for entry, kind, name in of_types}


def _treatment(method: Callable[[Any, str], Any], owner: Any, name: str) -> str:
    try:
        function = method(owner, name)
    except Exception:
        return "refused"
    if isinstance(function, ControlledCall):
        return function.treatment
    homes = (type(function).__module__, getattr(function, "__module__", None))
    if any(home is not None and home.startswith("dpor.") for home in homes):
        return "stand-in"
    return "instrumented" if isinstance(function, FunctionType | MethodType) else "passes"
