"""docs/atomicity.md: which operations are one step, as the host takes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).parents[3] / "docs" / "atomicity.md"

_HEAD = """\
# What is one step

A check lets other threads run between two operations that can be seen, and never inside one. This page says which
operations of C code are one such step. It is generated from what the checker does with each of them: `python -m
census` in `tests/engine` writes it, and a test compares.

- **With the GIL**, C code that calls no Python code is one step, and so it is here. C code that calls back (a
  `sort` with a key function, `list(generator)`, a dict whose keys have an `__eq__` in Python) is one step for each
  stretch of C code: other threads run while the code that it has called does.
- **Finer than with the GIL**, as on free-threaded builds: a function in C that an iterator in C applies
  (`list(map(items.append, more))`, `max(table, key=table.get)`) is a step for each item; a generator into which
  `throw` or `close` raises can be found running; what `cache_info` counts of an unbounded `lru_cache` is a step of
  its own; a third thread may find that a thread is not started, which runs already, until its `start` returns. A
  check can show orders of these that the GIL does not let happen.
- **On free-threaded builds** a method of `list`, `dict`, `set`, `bytearray` and their kin holds the lock of its
  object, so that the step is the same. An operation on two containers (`a.extend(b)`, `a == b`, `a | b`) is taken
  for one step too, which it is where CPython takes both locks. Iterators (`zip`, `map`, `enumerate`, generators,
  those of `itertools`) have no lock: what two threads that advance one iterator can do to each other inside of
  CPython is not explored.
- **Python code is never one step**: that of the standard library is instrumented as a model's is, unless a
  primitive of the checker stands for it (`threading`, `queue`, `asyncio`, `concurrent.futures`).
- **A call of code that is not instrumented** is one step that may change all that it is given, and an assumption of
  the report.

What an operation accesses decides which operations of other threads it is ordered with: two that only read commute,
and so do two that access different items. "May change all" is the worst that an operation can be; it costs
executions, never a bug.
"""
_WORDS = {
    "CellLoad": "reads one item",
    "CellStore": "stores one item",
    "CellDelete": "removes one item",
    "CellDefault": "stores one item if it is missing",
    "Append": "adds at the end",
    "Length": "reads the number of items",
    "ReadWhole": "reads all",
    "ReadOrder": "reads all, and in which order it is",
    "View": "reads all, or gives what does later",
    "WriteWhole": "may change all",
    "WriteByOrder": "may change all, by the order in which it is",
    "Write": "may change all that it is given",
    "Foreign": "may change all that it is given",
    "Nothing": "accesses nothing that threads share",
    "Number": "reads what it is given",
    "Truth": "reads whether there is anything",
    "Next": "advances an iterator",
    "Advance": "gives what advances an asynchronous iterator, step by step",
    "Alias": "gives an iterator or view, each of whose steps is one",
    "Read": "reads all that it is given",
    "Compare": "reads and compares all that it is given",
    "Show": "reads all that it is given, as text",
    "Examine": "reads all that can be reached",
    "Evaluate": "runs code, step by step",
    "GetAttribute": "reads one attribute",
    "HasAttribute": "reads one attribute",
    "SetAttribute": "stores one attribute",
    "DeleteAttribute": "removes one attribute",
    "InstanceDict": "gives the attributes as a dict, each operation on which is one",
    "Attributes": "reads which attributes there are",
    "State": "reads all that the object holds",
    "Value": "reads all that it is given",
    "Print": "turns what it is given into text, then writes that",
}
_TYPES = (
    "list",
    "dict",
    "set",
    "defaultdict",
    "OrderedDict",
    "Counter",
    "deque",
    "bytearray",
    "array",
    "memoryview",
    "StringIO",
    "BytesIO",
)
_MODULES = ("builtins", "operator")


def document(treatments: Mapping[str, str]) -> str:
    """The text of the page."""
    parts = [_HEAD]
    for title, owners, mark in (("Methods", _TYPES, "."), ("Functions", _MODULES, "")):
        parts.append(f"## {title}\n")
        parts.append("| Of | What it does | Which |\n|---|---|---|")
        for owner in owners:
            found: dict[str, list[str]] = defaultdict(list)
            for entry, treatment in treatments.items():
                kind, _, name = entry.partition(".")
                if kind == owner and not name.startswith("_") and treatment in _WORDS:
                    found[_WORDS[treatment]].append(f"`{mark}{name}`")
            parts += [
                f"| `{owner}` | {words} | {' '.join(sorted(names))} |"
                for words, names in sorted(found.items())
            ]
        parts.append("")
    return "\n".join(parts).replace("\n\n\n", "\n\n").rstrip() + "\n"
