"""Which variables of a function become cells, and that every way to bind one works."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

from dpor.instrument.hooks import NAMESPACE, namespace_entries
from dpor.instrument.scopes import analyze
from dpor.instrument.transformer import compile_instrumented

BINDINGS = {
    "assignment": "x = 1\nx = x + 1",
    "tuple": "x, *y = 1, 2, 3\n[x, (y, z)] = 4, (5, 6)\nz = 7",
    "chained": "x = y = z = []\nx = y = z = [1]",
    "augmented": "x = 1\nx += 2\nx *= 3\ny = [1]\ny += [2]",
    "annotated": "x: int = 1\ny: list[int]\nx: int = 2",
    "for": "for x in [1, 2]: pass\nfor x, (y, *z) in [(1, (2, 3)), (4, 'ab')]: pass\nelse: y = 3",
    "with": "from contextlib import nullcontext as n\nwith n(1) as x, n((2, 3)) as (y, z), n(x) as z: y = x",
    "except": "try: 1 / 0\nexcept ZeroDivisionError as x: y = type(x)\ny = 2, y",
    "except rebound": "x = 1\ntry: 1 / 0\nexcept ZeroDivisionError as x: x = 2",
    "except leaves": "x = y = 1\nfor i in [1, 2]:\n    try: 1 / 0\n    except ZeroDivisionError as y: continue\nx = 2",
    "import": "import os.path as x\nimport os.path\nfrom json import dumps as y, loads\nx, y = x.sep, y(1)\nimport json as z\nz = 1",
    "import dotted": "import os.path\nx = os.path.sep\nos = os.sep\ndef peek(): return os\nx = peek()",
    "walrus": "if (x := 1): pass\ny = [(x := i) for i in range(3)]\ny = (z := x), (z := x + 1)",
    "def": "x = 1\ndef x(a): return a\nx = x.__name__, x.__qualname__, x(3)",
    "decorated def": "y = []\ny = y + [1]\ndef deco(f): return (f, 1)\n@deco\ndef x(): pass\nx = x[1]",
    "class": "x = 1\nclass x:\n    'doc'\n    q = 1\n    def f(self): return super().__repr__(), __class__\nx = x.__name__, x.__doc__, x.q",
    "match": "y = z = 0\nmatch [1, {2: 3, 4: 5}, 6]:\n    case [x, {2: y, **z}, *w] if x == 1 and y: x = x, y, w\n    case x: x = None",
    "match without guard": "x = y = 0\nmatch (1, 2):\n    case (x, 3) | (2, x): y = 1\n    case (1, _ as x): y = x",
    "delete": "x = 1\ny = 2\ndel x, y\ny = 5",
    "unset": "if not 1: x = 1; x = 2",
    "nonlocal": "x = y = 0\ndef bump():\n    nonlocal x, y\n    x += 1\n    for y in [1, 2]: pass\nbump()\nbump()",
    "nonlocal in class": "x = 0\nclass K:\n    nonlocal x\n    x = 5\n    y = x",
    "class reads": "x = 0\nx = 1\nclass K:\n    q = x\n    z = [x for _ in range(2)]\n    def f(self): return x\ny = K.q, K.z, K().f()",
    "lambda": "x = 1\nz = lambda x, y=x: [lambda: (x := x + 1 if 0 else 3), x, y]\nz = z(5)[1:]",
    "lambda own": "z = (lambda x: ((x := x + 1), (lambda: x)(), (y := 7), (lambda: y)()))(1)\nz = z",
    "nested": "x = 1\ndef middle():\n    def inner(): return x\n    return inner\nx = 2\ny = middle()()",
    "comprehension": "x = [f() for f in [lambda: i for i in range(3)]]\nx = x, [f() for f in {k: (lambda: k + v) for k, v in {1: 2, 3: 4}.items() if k}.values()]",
    "late generator": "x = 1\ny = (x + i for i in [1, 2])\nx = 10\ny = list(y)",
    "generator of closures": "y = list((lambda: i) for i in [1, 2] for j in [3])\ny = [f() for f in y]",
    "late binding": "z = lambda: y\ny = 3\nz = z()",
    "mutual recursion": "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\nx = even(4), odd(4)",
    "itself": "def fact(n): return n and n * fact(n - 1) or 1\nx = fact(5)",
}

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
        namespace[NAMESPACE] = namespace
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
    assert run(source, namespace_entries(hooks.mapping())) == run(source, None)


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
        ("def f():\n x = 1\n def g():\n  nonlocal x\n  x = 2", set()),
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
