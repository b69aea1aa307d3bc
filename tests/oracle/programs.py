"""Makes programs out of the tables: two or three threads, each of a few operations on one or two shared objects."""

from __future__ import annotations

import ast
import importlib.util
import random
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from oracle.tables import composed
from oracle.tables.definitions import DEFINITIONS, LOCALS, MODULES, NEEDS, SHOWN
from oracle.tables.kinds import Kind
from oracle.tables.registry import KINDS

_LIBRARY = """
array asyncio base64 bisect collections concurrent.futures configparser contextlib contextvars copy
csv dataclasses datetime decimal enum fractions functools hashlib heapq io itertools json logging math
operator os outsider pathlib pickle pprint queue random re second shutil statistics string struct sys
tempfile textwrap threading time types weakref zlib
"""
_CROSS = (
    "s.extend(t)",
    "s += t",
    "o.append(s == t)",
    "s[:] = t",
    "s.update(t)",
    "s.append(t.pop())",
    "s[0] = t[0]",
    "o.append(list(zip(s, t)))",
    "o.append(copy.deepcopy([s, t]))",
    "o.append(s is t)",
    "for x in list(s): t.append(x)",
)
# Of two objects of one kind: each is shown as what it is.
_REBINDING = ("s, t = t, s", "s = t")
_AROUND = (
    "with lock:\n{}",
    "for _ in range(2):\n{}",
    "if len(o) < 1:\n{}",
    "try:\n{}\nfinally: o.append('f')",
    "def inner():\n{}\ninner()",
)
# Stands in names between an object and what two threads do with it.
_BESIDE = " // "
# Ends the name of a program that looks at its objects at times only.
_AT_TIMES = ", at times"
_GUARD = """
def guard(f, o):
    try:
        f(o)
    except Exception as e:
        o.append(type(e).__name__)
"""


@dataclass(frozen=True)
class Program:
    """A program: its name, by which it is made again, its text, its other first-party modules."""

    name: str
    text: str
    kinds: tuple[str, ...] = ()
    operations: tuple[tuple[str, ...], ...] = ()
    modules: dict[str, str] = field(default_factory=dict)


def build(
    name: str, kinds: Sequence[Kind], bodies: Sequence[Sequence[str]], *, at_times: bool = False
) -> Program:
    """The program in which each body is a thread. `s` is the object of the first kind, `t` of the second.

    With `at_times` the look at the objects takes place only if the first thread ends last, so not in the first
    execution: what is learned by it is learned after others, which have taken operations for ones that commute.
    """
    setup = [f"s = {kinds[0].make}"]
    looks = [kinds[0].look]
    if len(kinds) > 1:
        setup.append(f"t = {_for_t(kinds[1].make)}")
        looks.append(_for_t(kinds[1].look))
    lines = [line for body in bodies for line in body]
    everything = "\n".join([*setup, *looks, *lines])
    known = [word for word in LOCALS if _names(word, everything)]
    looks += [word for word in known if word in SHOWN and not any(_names(word, look) for look in looks)]
    setup = [LOCALS[word] for word in known] + setup
    shared = {"s", "t", *known}
    parts = [f"    {line}" for line in setup]
    parts.append(f"    outs = [[] for _ in range({len(bodies)})]")
    parts += ["    last = [None]"] if at_times else []
    for number, body in enumerate(bodies):
        parts.append(f"    def body{number}(o):")
        bound = sorted(_bound(body) & shared)
        if bound:
            parts.append(f"        nonlocal {', '.join(bound)}")
        parts += [textwrap.indent(operation, " " * 8) for operation in body]
        parts += [f"        last[0] = {number}"] if at_times else []
    for number in range(len(bodies)):
        parts.append(f"    t{number} = threading.Thread(target=guard, args=(body{number}, outs[{number}]))")
    parts += [f"    t{number}.start()" for number in range(len(bodies))]
    parts += [f"    t{number}.join()" for number in range(len(bodies))]
    looked = f"({', '.join(looks)},)" + (" if last[0] == 0 else None" if at_times else "")
    parts += [f"    fin = {looked}", "    return repr((outs, fin))"]
    program = "def program():\n" + "\n".join(parts) + "\n"
    definitions = _definitions(program)
    text = _imports(definitions + program) + definitions + _GUARD + program
    modules = {word: source for word, source in MODULES.items() if _names(word, text)}
    return Program(
        name, text, tuple(kind.name for kind in kinds), tuple(tuple(body) for body in bodies), modules
    )


def pair(kind: Kind, first: int, second: int, *, at_times: bool = False) -> Program:
    """One operation of a kind against another, on the same object."""
    bodies = [[kind.operations[first]], [kind.operations[second]]]
    name = f"{kind.name}:{first}:{second}{_AT_TIMES if at_times else ''}"
    return build(name, [kind], bodies, at_times=at_times)


def pairs(kind: Kind, *, at_times: bool = False) -> Iterator[Program]:
    """All pairs of a kind's operations; in both orders if the look at the end takes place at times."""
    for first in range(len(kind.operations)):
        for second in range(0 if at_times else first, len(kind.operations)):
            yield pair(kind, first, second, at_times=at_times)


def beside(made: str, one: str, other: str) -> Program:
    """One expression against another, on the object `s` that the expression `made` makes."""
    kind = Kind(made, made, "0", ())
    program = build(
        _BESIDE.join([made, one, other]), [kind], [[f"o.append(repr({call}))"] for call in (one, other)]
    )
    return replace(program, text=_library_of(made, one, other) + program.text)


def context(made: str) -> str:
    """The imports and definitions that an expression needs."""
    return _library_of(made) + _imports(_definitions(made)) + _definitions(made)


def made(name: str) -> Program:
    """The program of that name: the seed of a random one, `KIND:FIRST:SECOND`, the same that looks at the object at
    times only, or `OBJECT // ONE // OTHER`.
    """
    if _BESIDE in name:
        return beside(*name.split(_BESIDE))
    if ":" not in name:
        return drawn(int(name))
    operations = name.removesuffix(_AT_TIMES)
    kind, first, second = operations.rsplit(":", 2)
    return pair(KINDS[kind], int(first), int(second), at_times=operations != name)


def drawn(seed: int) -> Program:
    """The random program of a seed."""
    draw = random.Random(seed)
    # Drawn apart, so that a seed has the operations that it always had.
    at_times = random.Random(f"{seed}{_AT_TIMES}").random() < 0.15
    composes = draw.random() < 0.15
    names = sorted(composed.KINDS) if composes else list(KINDS)
    kinds = [KINDS[draw.choice(names)]]
    if not composes and draw.random() < 0.4:
        count = len(kinds[0].operations)
        program = pair(kinds[0], draw.randrange(count), draw.randrange(count), at_times=at_times)
        return Program(str(seed), program.text, program.kinds, program.operations, program.modules)
    if draw.random() < 0.25:
        kinds.append(kinds[0] if draw.random() < 0.5 else draw.choice(list(KINDS.values())))
    threads = 2 if draw.random() < 0.8 else 3
    longest = 3 if threads == 2 else 1
    bodies = [[_operation(draw, kinds) for _ in range(draw.randint(1, longest))] for _ in range(threads)]
    return build(str(seed), kinds, bodies, at_times=at_times)


def _operation(draw: random.Random, kinds: list[Kind]) -> str:
    if len(kinds) > 1 and draw.random() < 0.2 and not any(kind.endless for kind in kinds):
        return draw.choice(_CROSS if kinds[0] is not kinds[1] else _CROSS + _REBINDING)
    which = draw.randrange(len(kinds))
    if kinds[which].name in composed.KINDS and draw.random() < 0.25:
        operation = composed.composed(draw)
    else:
        operation = draw.choice(kinds[which].operations)
    if which:
        operation = _for_t(operation)
    if draw.random() < 0.12:
        around = draw.choice(_AROUND)
        bound = sorted(_bound([operation]) & {"s", "t", "box", "keep", "calls"})
        if around.startswith("def") and bound:
            return operation
        return around.format(textwrap.indent(operation, "    "))
    return operation


def _for_t(text: str) -> str:
    return re.sub(r"\bs\b", "t", text)


def _names(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.']){word}\b(?!')", text) is not None


def _bound(body: Sequence[str]) -> set[str]:
    """The names that the body of a function binds itself."""
    found: set[str] = set()
    todo: list[ast.AST] = list(ast.parse("\n".join(body)).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return found


def _definitions(text: str) -> str:
    wanted: set[str] = set()
    changed = True
    while changed:
        before = len(wanted)
        body = text + "".join(DEFINITIONS[word] for word in wanted if word in DEFINITIONS)
        for word in {*DEFINITIONS, *NEEDS}:
            if _names(word, body):
                wanted.update(NEEDS.get(word, ()))
                if word in DEFINITIONS:
                    wanted.add(word)
        changed = len(wanted) > before
    return "".join(DEFINITIONS[word] for word in DEFINITIONS if word in wanted)


def _library_of(*expressions: str) -> str:
    """Imports of the modules of the library that expressions name, submodules too."""
    dotted = {
        ast.unparse(node)
        for expression in expressions
        for node in ast.walk(ast.parse(expression))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return "".join(f"import {name}\n" for name in sorted(dotted) if _is_library(name))


def _is_library(name: str) -> bool:
    if name.partition(".")[0] not in sys.stdlib_module_names:
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        # A part of it is no package.
        return False


def _imports(text: str) -> str:
    names = [
        "threading",
        *(name for name in _LIBRARY.split() if re.search(rf"(?<![\w.']){re.escape(name)}\b[.)]?", text)),
    ]
    return "".join(f"import {name}\n" for name in dict.fromkeys(names))
