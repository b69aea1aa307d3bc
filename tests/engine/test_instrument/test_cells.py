"""Which variables of a function become cells, and that every way to bind one works."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from dpor.instrument.scopes import analyze
from dpor.instrument.transformer import compile_instrumented

PARTS = re.split(
    r"^# --- (.+)\n", (Path(__file__).parent / "data" / "bindings.txt").read_text("utf-8"), flags=re.MULTILINE
)
BINDINGS = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))

FRAME = """
def main(x=None, *y, **z):
    'doc'
    def reader():
        result = []
        for read in (lambda: x, lambda: y, lambda: z):
            try: result.append(str(read()))
            except NameError: result.append("unset")
        return result
{body}
    return reader()
"""


def run(source: str, entries: dict[str, Any] | None) -> Any:
    namespace: dict[str, Any] = {"__name__": "snippet"}
    if entries is None:
        exec(compile(source, "snippet.py", "exec", dont_inherit=True), namespace)
    else:
        namespace.update(entries)
        exec(compile_instrumented(source, "snippet.py"), namespace)
    return namespace["main"](), namespace["main"].__doc__


@pytest.mark.parametrize("parameters", ["x=None, *y, **z", ""], ids=["parameters", "locals"])
@pytest.mark.parametrize("name", BINDINGS)
def test_every_binding_form_works_on_cells(name: str, parameters: str, hooks: Any) -> None:
    source = FRAME.replace("x=None, *y, **z", parameters).format(body=textwrap.indent(BINDINGS[name], "    "))
    if not parameters:
        unset = [variable for variable in "xyz" if f"{variable}" not in BINDINGS[name]]
        source = source.replace(
            "    return reader()", "".join(f"    {v} = 0\n" for v in unset) + "    return reader()"
        )
    assert run(source, hooks.entries()) == run(source, None)


def cells(source: str, rebound: frozenset[str] = frozenset()) -> set[str]:
    symbols = analyze(ast.parse(textwrap.dedent(source)), rebound)
    return {name for scope in symbols.scopes.values() for name in symbols.cells(scope)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n x = 1\n def g(): return x", set()),
        ("def f(x):\n def g(): return x", set()),
        ("def f(x):\n x = 1\n def g(): return x", {"x"}),
        ("def f():\n x = 1\n x = 2\n return [x for _ in y], {x for _ in y}, any(x for _ in y)", set()),
        ("def f():\n x = 1\n x = 2\n return (x for _ in y)", {"x"}),
        ("def f():\n x = 1\n x = 2\n return any(x for _ in y)\ndef any(x): pass", {"x"}),
        ("def f():\n while 1:\n  x = 1\n  lambda: x", {"x"}),
        ("def f():\n for x in y: lambda: x", {"x"}),
        ("def f():\n for x in y: lambda x=x: x", set()),
        ("def f():\n x = 1\n def g():\n  nonlocal x\n  x = 2", {"x"}),
        ("def f():\n x = 1\n def g():\n  nonlocal x\n  x += 2", {"x"}),
        ("def f():\n t = spawn(lambda: x)\n x = 1", {"x"}),
        ("def f():\n def a(): b()\n def b(): a()", set()),
        ("def f():\n def a(): b()\n spawn(a)\n def b(): a()", {"b"}),
        ("def f():\n x = 1\n x = 2\n class C:\n  y = x", set()),
        ("def f():\n x = 1\n x = 2\n def g(a: x): return x", set()),
        ("def f():\n global x\n x = 1\n x = 2\n def g(): return x", set()),
        ("x = 1\nx = 2\ndef g(): return x", set()),
    ],
)
def test_only_shared_variables_become_cells(source: str, expected: set[str]) -> None:
    assert cells(source) == expected


def test_a_nonlocal_binding_is_shared() -> None:
    assert cells("def f():\n x = 1\n def g():\n  nonlocal x\n  x = 2\n def h(): return x") == {"x"}


def test_shared_globals_are_those_that_functions_bind() -> None:
    source = "a = b = c = d = 0\ndef f():\n global a, b, c\n a = 1\n del b\n return c\n"
    assert analyze(ast.parse(source), frozenset({"d"})).shared == {"a", "b", "d"}
