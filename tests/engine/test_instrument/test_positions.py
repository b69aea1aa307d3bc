"""Hooks are called with what the contract says, at the exact position of the original expression."""

from __future__ import annotations

import inspect
import linecache
from typing import Any

import pytest

from dpor.instrument.transformer import compile_instrumented

SETUP = """
class Thing:
    def __init__(self): vars(self).update(n=1, box=[1, 2], other=None, f=lambda *a, **k: 0)
    def __enter__(self): return self
    def __exit__(self, *details): pass
t = Thing()
flag = False
def fixed(x=None): return x
def declare():
    global shared
    shared = 1
"""


def calls(line: str, hooks: Any) -> list[tuple[str, str]]:
    """The hook calls of one line of a function, each with the text at its position (spans of lines are numbers)."""
    source = f"{SETUP}declare()\ndef main():\n    {line}\n"
    namespace: dict[str, Any] = {"__name__": "snippet"}
    namespace.update(hooks.entries())
    exec(compile_instrumented(source, "snippet.py"), namespace)
    hooks.log.clear()
    namespace["main"]()
    lines = source.splitlines()
    found: list[tuple[str, str]] = []
    for name, _, where in hooks.log:
        (start, column), (end, end_column) = (map(int, part.split(":")) for part in where.split("-"))
        found.append((name, lines[start - 1][column:end_column] if start == end else where))
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("t.n", [("load_attribute", "t.n")]),
        ("t.n = 2", [("store_attribute", "t.n = 2")]),
        ("del t.n", [("delete_attribute", "t.n")]),
        ("t.n += 1", [("load_attribute", "t.n"), ("store_attribute", "t.n += 1")]),
        (
            "t.box += [3]",
            [
                ("load_attribute", "t.box"),
                ("created", "[3]"),
                ("inplace", "t.box += [3]"),
                ("store_attribute", "t.box += [3]"),
            ],
        ),
        ("t.box[0] = 5", [("load_attribute", "t.box"), ("store_item", "t.box[0] = 5")]),
        ("t.box[:1]", [("load_attribute", "t.box"), ("load_item", "t.box[:1]")]),
        ("t.f(t.n)", [("method", "t.f"), ("load_attribute", "t.n")]),
        ("len(t.box)", [("callee", "len"), ("load_attribute", "t.box")]),
        ("fixed(isinstance(t, Thing))", []),
        (
            "Thing()",
            [
                *[("callee", "Thing"), ("callee", "vars"), ("method", "vars(self).update")],
                *[("created", "[1, 2]"), ("defined", "lambda *a, **k: 0")],
            ],
        ),
        ("shared", [("load_global", "shared")]),
        ("if not t.n: pass", [("load_attribute", "t.n"), ("truth", "t.n")]),
        ("if t is None or 1 < 2: pass", []),
        ("for x in t.box: break", [("load_attribute", "t.box"), ("iterate", "t.box")]),
        ("for x in range(2): break", []),
        ("1 in t.box", [("load_attribute", "t.box"), ("contains", "1 in t.box")]),
        ("1 in (1, 2)", []),
        ("t in (1, 2)", []),
        ("t in (1, t.n)", [("load_attribute", "t.n"), ("contains", "t in (1, t.n)")]),
        ("t.n == 1", [("load_attribute", "t.n")]),
        (
            "t.box == t.box",
            [
                ("load_attribute", "t.box"),
                ("load_attribute", "t.box"),
                ("compare", "t.box == t.box"),
            ],
        ),
        ("t.box * 2", [("load_attribute", "t.box"), ("operate", "t.box * 2"), ("created", "t.box * 2")]),
        (
            "t.n + t.n",
            [*[("load_attribute", "t.n")] * 2, ("operate", "t.n + t.n"), ("created", "t.n + t.n")],
        ),
        (
            "[t.n + i for i in [t.n + t.n]]",
            [
                *[("load_attribute", "t.n")] * 2,
                *[("operate", "t.n + t.n"), ("created", "t.n + t.n")],
                ("load_attribute", "t.n"),
                *[("operate", "t.n + i"), ("created", "t.n + i")],
                ("created", "[t.n + i for i in [t.n + t.n]]"),
            ],
        ),
        ("f'{t.n}'", [("load_attribute", "t.n"), ("format", "t.n")]),
        ("'%s' % t.n", [("load_attribute", "t.n"), ("operate", "'%s' % t.n")]),
        ("a, b = t.box", [("load_attribute", "t.box"), ("unpacked", "t.box")]),
        ("a, b = 1, 2", []),
        ("fixed(*[t.n])", [("load_attribute", "t.n")]),
        ("[t for x in '1']", [("created", "[t for x in '1']")]),
        ("t.n or t.n", [("load_attribute", "t.n"), ("truth", "t.n")]),
        ("with t as t.other: pass", [("store_attribute", "t.other")]),
    ],
)
def test_hooks_are_called_at_the_original_expression(
    line: str, expected: list[tuple[str, str]], logging_hooks: Any
) -> None:
    assert calls(line, logging_hooks) == expected


def test_every_node_of_a_statement_keeps_its_lines(logging_hooks: Any) -> None:
    source = "def main(t):\n    t.total = (\n        t.first\n        + t.second\n    )\n"
    namespace: dict[str, Any] = dict(logging_hooks.entries())
    exec(compile_instrumented(source, "snippet.py"), namespace)
    namespace["main"](type("T", (), {"first": 1, "second": 2})())
    assert [(name, where) for name, _, where in logging_hooks.log] == [
        ("load_attribute", "3:8-3:15"),
        ("load_attribute", "4:10-4:18"),
        ("operate", "3:8-4:18"),
        ("created", "3:8-4:18"),
        ("store_attribute", "2:4-5:5"),
    ]


def test_functions_keep_their_source_names_and_documentation(hooks: Any) -> None:
    source = (
        "def outer():\n    x = 1\n    x = 2\n    def deco(f): return f\n"
        "    @deco\n    def inner():\n        'Doc.'\n        return x, inner\n"
        "    inner = inner\n    return inner\n"
    )
    filename = "<inner source>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "snippet", **hooks.entries()}
    exec(compile_instrumented(source, filename), namespace)
    inner = namespace["outer"]()
    text = inspect.getsource(inner)
    del linecache.cache[filename]
    assert text.startswith("    @deco\n    def inner")
    assert text.endswith("inner\n")
    assert (inner.__doc__, inner.__name__, inner.__qualname__) == ("Doc.", "inner", "outer.<locals>.inner")
    assert inner.__code__.co_firstlineno == 5
    assert inspect.signature(inner).parameters == {}
