"""A `match` statement that has become conditions takes the same steps as the interpreter, with the same outcome."""

from __future__ import annotations

import array
import ast
import collections
import random
import textwrap
from typing import Any

import pattern_subjects
import pytest
from pattern_subjects import LOG, constants, subjects

from dpor.instrument.hooks import is_temporary
from dpor.instrument.transformer import compile_instrumented

PROGRAMS = 400


VALUES = ["0", "1", "2", "-1", "1.0", "2j", "1 + 2j", "''", "'k'", "b'k'", "None", "True", "False"]
DOTTED = ["c.one", "c.two", "c.text", "c.inner.key", "c.point"]
KEYS = ["'k'", "'x'", "1", "c.text", "c.inner.key", "True", "None"]
BUILT_IN = ["int", "str", "list", "dict", "tuple", "bool", "bytes", "float", "object", "set", "type", "range"]
OF_LIBRARY = ["deque", "OrderedDict", "array.array"]
OWN = ["Point", "Pair", "Twice", "Listed", "Numbered", "Failing", "Number", "Own", "Ones", "Items", "c.one"]
CLASSES = [*BUILT_IN, *OF_LIBRARY, *OWN]
ATTRIBUTES = ["x", "y", "z", "first", "second", "real", "__a"]


class Generator:
    """Random patterns; `unused` are the names that are left to bind."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def cases(self) -> str:
        cases = [self._case(last=False) for _ in range(self.random.randint(1, 3))]
        return "".join([*cases, self._case(last=True)])

    def _case(self, last: bool) -> str:
        unused = ["p", "q", "r", "s", "t"]
        pattern = "_" if last and self.random.random() < 0.4 else self.pattern(unused, 3, refutable=not last)
        guard = self.random.choice(["", "", "", " if len(LOG) % 2", " if p if False else 1", " if seen()"])
        bound = "".join(f"{name}={name}, " for name in "pqrst" if name not in unused)
        return f"    case {pattern}{guard}:\n        done = dict({bound}case={self.random.random()})\n"

    def pattern(self, unused: list[str], depth: int, refutable: bool = False) -> str:
        choices = [self.value, self.sequence, self.mapping, self.instance, self.alternatives]
        if depth == 0:
            choices = [self.value]
        if not refutable:
            choices += [self.capture] * (2 if depth == 3 else 4)
        pattern = self.random.choice(choices)(unused, depth)
        if refutable and unused and self.random.random() < 0.15:
            pattern = f"(({pattern}) as {unused.pop()})"
        return pattern

    def capture(self, unused: list[str], _: int) -> str:
        return unused.pop() if unused and self.random.random() < 0.7 else "_"

    def value(self, _: list[str], __: int) -> str:
        return self.random.choice(VALUES if self.random.random() < 0.7 else DOTTED)

    def sequence(self, unused: list[str], depth: int) -> str:
        parts = [self.pattern(unused, depth - 1) for _ in range(self.random.choice([0, 1, 1, 2, 2, 2, 3]))]
        if self.random.random() < 0.4:
            star = f"*{self.capture(unused, depth)}"
            parts.insert(self.random.randint(0, len(parts)), star)
        return f"[{', '.join(parts)}]"

    def mapping(self, unused: list[str], depth: int) -> str:
        keys = self.random.sample(KEYS, self.random.choice([0, 1, 1, 2, 3]))
        if "1" in keys and "True" in keys:
            keys.remove("1")
        parts = [f"{key}: {self.pattern(unused, depth - 1)}" for key in keys]
        if unused and self.random.random() < 0.4:
            parts.append(f"**{unused.pop()}")
        return f"{{{', '.join(parts)}}}"

    def instance(self, unused: list[str], depth: int) -> str:
        parts = [self.pattern(unused, depth - 1) for _ in range(self.random.choice([0, 0, 1, 1, 2, 3]))]
        names = self.random.sample(ATTRIBUTES, self.random.choice([0, 0, 1, 2]))
        parts += [f"{name}={self.pattern(unused, depth - 1)}" for name in names]
        return f"{self.random.choice(CLASSES)}({', '.join(parts)})"

    def alternatives(self, unused: list[str], depth: int) -> str:
        bound = unused[: self.random.choice([0, 1, 2])]
        for name in bound:
            unused.remove(name)
        parts: list[str] = []
        for _ in range(self.random.randint(2, 3)):
            own = self.random.sample(bound, len(bound))
            part = self.pattern(own, depth - 1, refutable=True)
            parts.append(part if not own else f"[{', '.join([part, *own])}]")
        return f"({' | '.join(parts)})"


PLAIN = """
def main(subject):
    done = None
    match subject:
{cases}
    return done
"""

CELLS = """
def main(subject):
    p = q = r = s = t = done = None
    def shown():
        return [p, q, r, s, t]
    match subject:
{cases}
    return done, shown()
"""

GLOBALS = """
def main(subject):
    global p, q, r, s, t
    p = q = r = s = t = done = None
    match subject:
{cases}
    return done, p, q, r, s, t
"""

CLASS = """
def main(subject):
    for _ in [1]:
        class Body:
            match subject:
{cases}
    return [(name, value) for name, value in vars(Body).items() if not name.startswith('__')]
"""

SHAPES = {"plain": PLAIN, "cells": CELLS, "globals": GLOBALS, "class": CLASS}


def namespace() -> dict[str, Any]:
    """The globals of a snippet: the classes of the subjects, and what value patterns name."""
    classes = {name: kind for name, kind in vars(pattern_subjects).items() if isinstance(kind, type)}
    library = {"deque": collections.deque, "OrderedDict": collections.OrderedDict, "array": array}
    return {
        "__name__": "snippet",
        "c": constants(),
        "LOG": LOG,
        "seen": lambda: len(LOG) % 3,
        **classes,
        **library,
    }


def outcomes(source: str, entries: dict[str, Any] | None) -> list[Any]:
    """What `main` does with every subject: what it gives or raises, and the steps that it takes."""
    names = namespace()
    if entries is None:
        code = compile(source, "snippet.py", "exec", dont_inherit=True)
    else:
        names.update(entries)
        code = compile_instrumented(source, "snippet.py")
    exec(code, names)
    found: list[Any] = []
    for subject in subjects():
        LOG.clear()
        try:
            outcome: Any = repr(names["main"](subject))
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        found.append(
            (outcome.split(" at 0x")[0], tuple(LOG), sorted(name for name in names if "dpor" not in name))
        )
    assert not any(map(is_temporary, names))
    return found


def compare(shape: str, cases: str, hooks: Any) -> list[Any]:
    source = SHAPES[shape].format(
        cases=textwrap.indent(cases, "            " if shape == "class" else "    ")
    )
    plain = outcomes(source, None)
    instrumented = outcomes(source, hooks.entries())
    for subject, one, other in zip(subjects(), plain, instrumented, strict=True):
        assert other == one, f"{subject!r} of type {type(subject)} in\n{source}"
    return plain


PATTERNS = [
    "[]",
    "[_]",
    "[*_]",
    "[_, *_]",
    "[p, *_]",
    "[*_, p]",
    "[p, *_, q]",
    "[*p]",
    "[p, *q, r]",
    "[1, [p, *_, q]]",
    "(p, _)",
    "[int(p), 2 as q]",
    "{}",
    "{**p}",
    "{'k': _}",
    "{'k': p, **q}",
    "{'k': 1, 'x': p, **q}",
    "{c.text: p, 'k': q}",
    "{c.inner.key: p, 'k': [q, *_]}",
    "{None: p}",
    "int()",
    "int(p)",
    "int(p, q)",
    "int(p, real=q)",
    "int(real=p, imag=q)",
    "Own(p)",
    "Own(p, q)",
    "Number(p)",
    "deque(1)",
    "OrderedDict(p)",
    "array.array(p)",
    "range(p)",
    "object(1, 2)",
    "c.one()",
    "Ones()",
    "Ones(p)",
    "Point()",
    "Point(p)",
    "Point(p, q)",
    "Point(p, q, r)",
    "Point(1, y=2)",
    "Point(1, x=p)",
    "Point(p, z=q)",
    "Pair(first=[p, q], second=Pair(0))",
    "Twice(p)",
    "Twice(p, q)",
    "Listed(p)",
    "Listed(x=p)",
    "Numbered(p)",
    "Numbered(p, q)",
    "Failing(z=p)",
    "Failing(__a=p)",
    "None | True | False",
    "True as p",
    "c.point",
    "c.one | c.two as p",
    "[p, 1] | [1, p] | [[p], _]",
    "{'k': p, 'x': q} | [q, p]",
    "Point(p, [q]) | [p, q] | (Pair(q, p))",
    "1 + 2j | -1 | 2j as p",
    "'k' | b'k'",
    "(([p] | p))",
    "p if p",
    "[p, q] if p < q",
    "p if (lambda: p)()",
    "_ if [p for p in [1]]",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_kind_of_pattern_behaves_as_plain_code(shape: str, hooks: Any) -> None:
    for pattern in PATTERNS:
        names = "".join(f"{name}={name}, " for name in bound_names(f"match 0:\n case {pattern}: pass"))
        compare(shape, f"    case {pattern}:\n        done = dict({names}n=1)\n", hooks)


def bound_names(source: str) -> list[str]:
    captures = (ast.MatchAs, ast.MatchStar)
    nodes = list(ast.walk(ast.parse(source)))
    found = {node.name for node in nodes if isinstance(node, captures)}
    found |= {node.rest for node in nodes if isinstance(node, ast.MatchMapping)}
    return sorted(filter(None, found))


@pytest.mark.parametrize("shape", SHAPES)
def test_random_patterns_behave_as_plain_code(shape: str, hooks: Any) -> None:
    matched = 0
    for seed in range(PROGRAMS // len(SHAPES)):
        cases = Generator(seed).cases()
        matched += sum("case" in outcome for outcome, _, _ in compare(shape, cases, hooks))
    assert matched > PROGRAMS
