"""Instrumented code does what plain code does: same results, exceptions, lines and order of evaluation."""

from __future__ import annotations

import re
import sys
import textwrap
import traceback
from typing import Any

import pytest

from dpor.instrument.hooks import NAMESPACE, namespace_entries
from dpor.instrument.transformer import compile_instrumented

ADDRESS = re.compile("0x[0-9a-f]+")

PRELUDE = '''
trace = []
class Note:
    """Logs every operation on itself."""
    def __init__(self, name, truth=True): self.__dict__.update(name=name, is_true=truth, slots={})
    def __repr__(self): return self.name
    def __bool__(self): trace.append(f"bool {self.name}"); return self.is_true
    def __getattr__(self, attribute):
        if attribute.startswith("__"): raise AttributeError(attribute)
        trace.append(f"get {self.name}.{attribute}")
        if attribute == "missing": raise AttributeError(attribute)
        return self.slots.get(attribute, 0)
    def __setattr__(self, attribute, value):
        trace.append(f"set {self.name}.{attribute} {value!r}"); self.slots[attribute] = value
    def __delattr__(self, attribute): trace.append(f"del {self.name}.{attribute}")
    def __getitem__(self, key):
        if isinstance(key, int) and key > 3: raise IndexError(key)
        trace.append(f"item {self.name} {key!r}"); return self.slots.get(repr(key), 1)
    def __setitem__(self, key, value):
        trace.append(f"setitem {self.name} {key!r} {value!r}"); self.slots[repr(key)] = value
    def __delitem__(self, key): trace.append(f"delitem {self.name} {key!r}")
    def __contains__(self, item): trace.append(f"in {self.name} {item!r}"); return self.is_true
    def __lt__(self, other): trace.append(f"{self.name} < {other!r}"); return self
    def __add__(self, other): trace.append(f"{self.name} + {other!r}"); return self
    def __iadd__(self, other): trace.append(f"{self.name} += {other!r}"); return self
    def __enter__(self): trace.append(f"enter {self.name}"); return self.slots.get("entered", self)
    def __exit__(self, *details): trace.append(f"exit {self.name} {details[0]}"); return self.is_true
    def __call__(self, *args, **kwargs): trace.append(f"call {self.name} {args} {kwargs}"); return self
def say(value, *rest):
    trace.append(f"say {value!r}")
    return value
a, b, c, off = Note("a"), Note("b"), Note("c"), Note("off", False)
'''

BODIES = {
    "attributes": "say(a).x = say(b).y; del say(a).x; say(a).z",
    "attribute chain": "a.x = b.y = c.z = say(3); (a.p, b.q), c[0] = (say(1), 2), say(3)",
    "starred target": "first, *a.rest = say([1, 2, 3]); *b[0], last = say('xyz'); return first, last",
    "nested targets": "[x, (y, *z)], a.q = [1, (2, 3, 4)], 5; return x, y, z",
    "unpack failure": "a.x, (b.y, c.z) = 1, say(2)",
    "too many": "a.x, b.y = say([1, 2, 3])",
    "items": "say(a)[say(1)] = say(b)[say(2)]; del say(a)[say(3)], say(b).k; del (a[0], (b.c))",
    "slices": "a[1:2] = a[say(1):say(2):say(3)]; a[1:2, ...] = a[:, 0]; del a[:]; x = [1, 2, 3]; return x[1:], x[::-1]",
    "starred index": "x = [1, 2]; a[*x] = 3; return a[0, *x]",
    "augmented attribute": "say(a).n += say(1); a.n += b; a.n *= 2; return a.n",
    "augmented item": "say(a)[say(0)] += say(2); a[0, 1] -= 1; a[0:1] += 1; i = 0; a[i] += (i := 2); return i",
    "augmented name": "x = [1]; y = x; x += [2]; x *= 2; z = 1; z += 2; z -= y[0]; s = 'a'; s += 'b'; return x, y, z, s",
    "augmented object": "x = a; x += say(b); a.obj = b; a.obj += c; return x",
    "augmented failure": "a.n += say(1) / 0",
    "calls": "say(say)(say(a)(say(1), *[2, *say([3])], k=say(4), **{'l': say(5), **{'m': 6}}))",
    "method call": "a.method = c; say(a).method(1)(2); return 'x,y'.split(','), [3, 1, 2].index(1), ' '.join(x for x in 'ab')",
    "double keyword": "return dict(**{'k': 1}, **say({'l': 2}))",
    "or and": "return say(off) or say(b) and say(c) or say(a), off or 0 or [], a and off, 1 < 2 and a, not off, not a",
    "nested bools": "return (off or (a and off)) or (off or b), (a and (off or c)), [x or y for x in (off, a) for y in (b,)]",
    "bool in generator": "return list(x or b for x in (off, a)), [(x and y) for x in [a or b] for y in (off or [1])]",
    "tests": "if say(off): return 1\nelif a and not off or c: a.x = 1\nwhile a.x < 3: a.x += 1\nelse: say('done')\nreturn 2 if off else 3 if (a or b) and c else 4",
    "assert": "assert say(off) or say(off), say('message')",
    "assert passes": "assert say(a) and (b if c else off), say('never')",
    "comparisons": "return 1 < 2 < 3, say(a) < say(b), 1 < say(5) in [5], 2 in say({2}) in [{2}], 3 not in (1, 2), a is a is not b",
    "chain short circuit": "return 3 < say(1) in say(a), 1 in say(a) in say([True]), 'k' not in {'k': 1}, 1 < 2 not in off",
    "operators": "return [1] + say([2]), say([1]) * 2, {1} | {2}, '%s %s' % (a, b), 'x%s' % a, 7 % 4, -3 + 4, {1: 2} | {3: 4}, ~5",
    "for": "for a.x in say([1, 2]): say(a.x)\nfor x, (y, z) in [(1, (2, 3)), [4, [5, 6]]]: say((x, y, z))\nelse: say('else')\nfor i in range(3):\n    if i: break",
    "for items": "d = {1: 2}; r = []\nfor k, v in d.items(): r.append((k, v))\nfor i, (k, *v) in enumerate(['ab', 'cd']): r += [i, k, v]\nreturn r",
    "for failure": "for x in say(5): pass",
    "comprehensions": "return [x for x in say([1, 2, 3]) if say(x) > 1], {x: y for x, y in [(1, 2)]}, {x for x in 'ab' if a}, [y for x in [[1, 2]] for y in x]",
    "comprehension targets": "r = [a.x for a.x in range(2)], [(x, y, z) for x, (y, *z) in [(1, (2, 3)), 'a' and (4, 'bc')]]; return r, [1 for a[0], b.q in zip('ab', 'cd') if a[0]]",
    "walrus in comprehension": "r = [(y := x) for x in [1, 2, 3]]; return r, y, [z for w in range(3) if (z := w) or a]",
    "f-strings": "x = [1]; w = 5; return f'{x=} {x!r:>10} {3:{w}} {a.q!s} {\"k\"}', f'{x}'",
    "with": "with say(a) as b.x, say(c) as a.y, off: say('in')\na.entered = (1, 2)\nwith a as (p, q), b as c.z[0]: say((p, q))",
    "with suppress": "with a: raise ValueError(1)\nwith off as x: 1 / 0",
    "try": "try: a.missing\nexcept (KeyError, AttributeError) as e: say(str(e))\nelse: say('no')\nfinally: say('finally')\ntry: e\nexcept UnboundLocalError as f: say('gone')",
    "exception group": "try: raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\nexcept* ValueError as e: say(repr(e.exceptions))\nexcept* TypeError as e: say(len(e.exceptions))",
    "match": "r = []\nfor v in [1, [1, 2, 3], {'k': 1, 'z': 2}, 'x', Point(1, 2), (4,), None]:\n    match v:\n        case int(n) if n > 0: r.append(('int', n))\n        case [first, *rest]: r.append((first, rest))\n        case {'k': k, **others}: r.append((k, others))\n        case 'x' | 'y' as s: r.append(s)\n        case Point(x=0) | Point(x=_, y=2): r.append('point')\n        case _: r.append('other')\nreturn r",
    "match tuple": "x = [1]\nmatch x, say(2):\n    case [y], z: return y, z",
    "delete": "x = 1; y = [1, 2]; del x, y[0]; return y, 'x' in locals()",
    "annotated": "a.x: Undefined = say(1); z: Undefined = 2; a[0]: int = 3; w: int; return z",
    "imports": "import os.path, json as j; from os import path as p, sep; return p is os.path, j.dumps([1]), sep",
    "lambda": "f = lambda x, *y, z=a.x, **k: (x, y, z or b, k); return f(1, 2, q=3), (lambda: 3)()",
    "global": "global counter\ncounter = 1; counter += 1; (counter := counter + 1); r = counter\ndel counter\ntry: counter\nexcept NameError as e: return r, 'counter' in str(e)",
    "global binding forms": "global g1, g2, g3, g4, g5\nimport os.path as g1\nfor g2 in [1, 2]: pass\ndef g3(): return g2\nclass g4: q = g2\nwith a as g5: pass\nreturn g1.sep, g2, g3(), g3.__qualname__, g4.q, g5",
    "generators": "def g():\n    x = yield 1\n    say(x)\n    y = yield from [2, 3]\n    return y\nh = g(); next(h); r = [h.send(5)] + list(h); return r, sum(x for x in g() if x), list(x * 2 for x in [1])",
    "async": "async def f(x):\n    await asyncio.sleep(0)\n    async with M() as a.x, M(): pass\n    r = [i async for i in agen() if i]\n    async for i, (j) in pairs(): r.append(i)\n    return [await one(x) for x in r], x or r\nreturn asyncio.run(f(off))",
    "class": "class K(Base, flag=say(1)):\n    'doc'\n    __slots__ = ('v', '__w')\n    x = [1]\n    y = x or a\n    (z, a.q), w = (1, 2), 3\n    a.n += 1\n    l = [i for i in x or [0]]\n    def __init__(self): super().__init__(); self.v = self.__w = 1; self.__w += 1\n    def get(self): return __class__.__name__, self.__w, self.v\n    @property\n    def p(self): return super().p + 1\n    @staticmethod\n    def s(x=x): return x\nk = K(); return k.get(), k.p, K.s(), K.__doc__, sorted(n for n in vars(K) if 'dpor' in n), K.z, K.l",
    "dataclass": "@dataclass(order=True)\nclass D:\n    x: int\n    y: list = field(default_factory=list)\n    z: int = 3\nreturn D(1), D(1) < D(2), D.__annotations__",
    "decorators": "@deco(say(1))\n@deco(a.x)\ndef f(x=say(2)):\n    'doc'\n    return x\nreturn f(), f.__name__, f.__doc__",
    "recursion": "def fact(n): return n * fact(n - 1) if n else 1\nreturn fact(5)",
    "error in attribute": "x = 1\nreturn (a.y +\n  a.missing)",
    "error in call": "return say(\n  1)[0]",
    "error in store": "x = 5\nx.y = 1",
    "error in delete": "x = [1]\ndel x[\n5]",
    "unbound": "say(1); x += 1; x = 2",
    "yield in or": "def g(): return (yield 1) or (yield 2) and (yield 3)\nh = g(); return next(h), h.send(0), h.send(1)",
    "mangled": "class _C:\n    __p = 1\n    def f(self):\n        self.__q = _C__p_check()\n        return self.__p, self.__q, [v for v in vars(self)]\nreturn _C().f()",
    "conditional expression values": "return [off, b][0 if off else 1], (a if (off or b) else c), {**{'a': off or 1}}",
    "conversion to bool of results": "return bool(a and b), any([off, a]), all(x for x in (a, off)), isinstance(a, Note) and a",
}

EXTRA = """
import asyncio
from dataclasses import dataclass, field
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
class Base:
    def __init_subclass__(cls, flag=0): trace.append(flag)
    p = property(lambda self: 41)
def deco(x): return lambda f: (trace.append(f"deco {x!r}"), f)[1]
def _C__p_check(): return "checked"
class M:
    async def __aenter__(self): return 1
    async def __aexit__(self, *details): return False
async def agen():
    for i in range(3): yield i
async def pairs():
    yield 7, 8
async def one(x): return x
"""


def run(source: str, entries: dict[str, Any] | None) -> tuple[Any, list[str]]:
    """Run `source` (which defines `main`) and give what it did and what it logged."""
    namespace: dict[str, Any] = {"__name__": "snippet", "__file__": "snippet.py"}
    if entries is None:
        code = compile(source, "snippet.py", "exec", dont_inherit=True)
    else:
        code = compile_instrumented(source, "snippet.py")
        namespace.update(entries)
        namespace[NAMESPACE] = namespace
    exec(code, namespace)
    try:
        outcome: Any = ("returns", ADDRESS.sub("", repr(namespace["main"]())))
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "snippet.py"]
        outcome = ("raises", type(error).__name__, lines[0])
    names = sorted(name for name in namespace if "dpor" not in name)
    return (*outcome, names), [ADDRESS.sub("", entry) for entry in map(str, namespace["trace"])]


def snippet(body: str) -> str:
    return PRELUDE + EXTRA + "def main():\n" + textwrap.indent(body.replace("; return", "\nreturn"), "    ")


@pytest.mark.parametrize("name", BODIES)
def test_behaves_as_plain_code(name: str, hooks: Any) -> None:
    source = snippet(BODIES[name])
    assert run(source, namespace_entries(hooks.mapping())) == run(source, None)


MODULES = {
    "module level": "x = [1]\nx += [2]\nfor y, z in [[1, 2]]: pass\nq = x or y\nn = Note('n'); n.k += 1; n.a, n.b = x\ndef main(): return x, y, z, q, n.k",
    "shared global": "total = 0\nnames = []\ndef add():\n    global total\n    total += 1\nfor i in range(3): add()\nseen = total\nclass C:\n    at = total\n    def f(self): return total\ndef main(): add(); return total, seen, C.at, C().f(), globals()['total']",
    "global annotation": "def f():\n    global g\n    g = 2\ng: int = 1\nf()\ndef main(): return g, __annotations__",
    "global deleted": "def f():\n    global g\n    del g\ng = 1\nf()\ndef main(): return 'g' in globals()",
    "global class": "def f():\n    global Thing\n    class Thing: pass\n    return Thing\nThing = None\ndef main(): return f() is Thing, Thing.__qualname__",
    "private global": "def main(): return C().bump(), _C__n\n_C__n = 1\nclass C:\n    def bump(self):\n        global __n\n        __n += 1\n        return __n",
    "future import": '"""Doc."""\nfrom __future__ import annotations\ndef f(x: Undefined[or_other] = 1) -> Nope: return x\ndef main(): return f(), f.__annotations__, __doc__',
}


@pytest.mark.parametrize("name", MODULES)
def test_module_level_behaves_as_plain_code(name: str, hooks: Any) -> None:
    source = MODULES[name]
    if "__future__" in source:
        source = source + "\ntrace = []"
    else:
        source = PRELUDE + source
    assert run(source, namespace_entries(hooks.mapping())) == run(source, None)


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
    assert run(TYPE_PARAMETERS, namespace_entries(hooks.mapping())) == run(TYPE_PARAMETERS, None)
