"""Instrumented code does what plain code does: same results, exceptions, lines and order of evaluation."""

from __future__ import annotations

import re
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import pytest

from dpor.instrument.transformer import compile_instrumented

ADDRESS = re.compile("0x[0-9a-f]+")

DATA = Path(__file__).parent / "data"
PRELUDE = (DATA / "prelude.txt").read_text("utf-8")


def sections(name: str) -> dict[str, str]:
    """The snippets of a data file by their headings."""
    parts = re.split(r"^# --- (.+)\n", (DATA / name).read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


BODIES = sections("bodies.txt")
MODULES = sections("modules.txt")


def run(source: str, entries: dict[str, Any] | None, *, sees_operands: bool = False) -> tuple[Any, list[str]]:
    """Run `source` (which defines `main`) and give what it did and what it logged."""
    namespace: dict[str, Any] = {"__name__": "snippet", "__file__": "snippet.py"}
    if entries is None:
        code = compile(source, "snippet.py", "exec", dont_inherit=True)
    else:
        code = compile_instrumented(source, "snippet.py", sees_operands=sees_operands)
        namespace.update(entries)
    exec(code, namespace)
    try:
        outcome: Any = ("returns", ADDRESS.sub("", repr(namespace["main"]())))
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "snippet.py"]
        outcome = ("raises", type(error).__name__, lines[0])
    names = sorted(name for name in namespace if "dpor" not in name)
    return (*outcome, names), [ADDRESS.sub("", entry) for entry in map(str, namespace["trace"])]


def snippet(body: str) -> str:
    return PRELUDE + "def main():\n" + textwrap.indent(body, "    ")


@pytest.mark.parametrize("sees_operands", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_behaves_as_plain_code(name: str, sees_operands: bool, hooks: Any) -> None:
    source = snippet(BODIES[name])
    entries = hooks.entries()
    assert run(source, entries, sees_operands=sees_operands) == run(source, None)


@pytest.mark.parametrize("sees_operands", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_module_level_behaves_as_plain_code(name: str, sees_operands: bool, hooks: Any) -> None:
    source = MODULES[name]
    source = f"{source}trace = []\n" if "__future__" in source else PRELUDE + source
    entries = hooks.entries()
    assert run(source, entries, sees_operands=sees_operands) == run(source, None)


TYPE_PARAMETERS = """
trace = []
type Alias[T] = list[T] | Undefined
def first[T: int](values: list[T], extra=trace or None) -> T:
    def inner(x: T) -> T: return x
    return inner(values[0])
class Box[T](dict[str, T] or object):
    item: T
    def get(self) -> T: return self["k"]
def main():
    count = 0
    def bump[U](x: U):
        nonlocal count
        count += x
        return count
    bump(2)
    return first([3]), Box(k=2).get(), Alias.__name__, Box.__type_params__, bump(1), first.__annotations__
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in Python 3.12")
def test_type_parameters_behave_as_plain_code(hooks: Any) -> None:
    assert run(TYPE_PARAMETERS, hooks.entries()) == run(TYPE_PARAMETERS, None)
