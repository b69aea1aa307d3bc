"""What the compiler refuses or warns of is refused and warned of once the code is instrumented, in the same words."""

from __future__ import annotations

import warnings

import pytest

from dpor.instrument.transformer import compile_instrumented

REFUSED = [
    "def f():\n    a = 1\n    global a",
    "def f():\n    global a\n    a = 1\n    global a\n    a = 2",
    "def f(a):\n    global a",
    "def f(a):\n    nonlocal a",
    "def f():\n    nonlocal missing",
    "nonlocal a",
    "def f():\n    print(a)\n    global a",
    "def f():\n    a: int = 1\n    global a",
    "def f(a, a):\n    pass",
    "*a, *b = c",
    "*a = b",
    "print(*a for a in b)",
    "[*a for a in b]",
    "def f():\n    [a := 1 for a in b]",
    "class C:\n    [a := 1 for b in c]",
    "return 1",
    "yield 1",
    "await a",
    "break",
    "for a in b:\n    def f():\n        continue",
    "async def f():\n    yield from a",
    "def f():\n    async with a: pass",
    "def f():\n    return [b async for b in a]",
    "try:\n    pass\nexcept:\n    pass\nexcept ValueError:\n    pass",
    "from __future__ import missing",
    "a = 1\nfrom __future__ import annotations",
    "def f():\n    from a import *",
    "__debug__ = 1",
    "a.__debug__ = 1",
    "def f(__debug__): pass",
    "del __debug__",
    "match 0:\n case p: pass\n case 1: pass",
    "match 0:\n case _: pass\n case 1: pass",
    "match 0:\n case [p, p]: pass",
    "match 0:\n case [p] | [q]: pass",
    "match 0:\n case [*p, *q]: pass",
    "match 0:\n case {'k': 1, 'k': 2}: pass",
    "match 0:\n case Point(x=1, x=2): pass",
]
WARNED = [
    "assert (a, 'text')",
    "if a is 1: pass",
    "'abc' ()",
    "'abc' [1, 2]",
    "[1]['a']",
    "1 if 2 is 3 else 4",
]


@pytest.mark.parametrize("source", REFUSED)
def test_what_the_compiler_refuses_is_refused(source: str) -> None:
    with pytest.raises(SyntaxError) as plain:
        compile(source, "snippet.py", "exec", dont_inherit=True)
    with pytest.raises(SyntaxError) as instrumented:
        compile_instrumented(source, "snippet.py")
    assert instrumented.value.msg == plain.value.msg
    assert (instrumented.value.filename, instrumented.value.lineno) == ("snippet.py", plain.value.lineno)


@pytest.mark.parametrize("source", WARNED)
def test_what_the_compiler_warns_of_is_warned_of_once(source: str) -> None:
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        compile(source, "snippet.py", "exec", dont_inherit=True)
    with warnings.catch_warnings(record=True) as instrumented:
        warnings.simplefilter("always")
        compile_instrumented(source, "snippet.py")
    assert [str(warning.message) for warning in plain]
    assert [(str(told.message), told.lineno) for told in instrumented] == [
        (str(told.message), told.lineno) for told in plain
    ]


def test_a_warning_that_is_an_error_is_one() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        with pytest.raises(SyntaxError, match="assertion is always true"):
            compile_instrumented("assert (a, 'text')", "snippet.py")
