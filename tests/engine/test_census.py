"""Every public callable of some modules and every method of the built-in types has a mark in the census, and the host
takes it for that. What a new version of Python adds fails here until somebody has looked at it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from census import document, names
from census.table import marked
from census.treatment import mark, treatments

# What holds one thing, or another.
PAIRS: dict[str, Callable[[int], Any]] = {
    "list": lambda value: [value],
    "dict": lambda value: {value: value},
    "set": lambda value: {value},
    "bytearray": lambda value: bytearray([48 + value]),
    "tuple of a list": lambda value: ([value],),
}
# They are given a class, or what they give is another one each time.
APART = {"__class__", "__class_getitem__", "__init_subclass__", "__new__", "__subclasshook__", "__sizeof__"}
# They give what they are given, which is looked at where it is used; or are what the object was made of.
GIVING = {
    "ContextVar.set",
    "ContextVar.get",
    "ContextVar.reset",
    "defaultdict.default_factory",
    "partial.func",
}


def test_every_callable_is_taken_for_what_its_mark_says(tmp_path: Path) -> None:
    known = marked()
    found = {name: mark(treatment) for name, treatment in treatments(tmp_path).items()}
    missing = sorted(set(found) - set(known))
    assert not missing, (
        f"not in the census; add them by `python -m census` and look at their marks: {missing}"
    )
    assert {name: mark for name, mark in found.items() if known[name] != mark} == {}


def harmless(kind: str) -> Iterator[str]:
    known = marked()
    for entry, owner, name in names.of_types():
        if owner == kind and known.get(entry) == "harmless" and name not in APART and entry not in GIVING:
            yield name


@pytest.mark.parametrize("kind", names.MAKERS)
def test_a_harmless_method_gives_the_same_whatever_a_container_holds(kind: str) -> None:
    for name in harmless(kind):
        method: Any = getattr(eval(names.MAKERS[kind], names.namespace()), name)
        for holds in PAIRS.values():
            assert outcome(method, holds(1)) == outcome(method, holds(2)), (kind, name)


def outcome(method: Any, argument: object) -> tuple[type, object]:
    """What a call tells: its value, if that is a plain one."""
    try:
        value = method(argument)
    except Exception as error:
        return type(error), None
    return type(value), value if isinstance(value, int | str | bytes | float | tuple) else None


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the page is that of the oldest Python")
def test_the_documentation_says_what_the_host_does(tmp_path: Path) -> None:
    text = document.FILE.read_text(encoding="utf-8")
    assert text == document.document(treatments(tmp_path)), "run `python -m census` in tests/engine"


def test_the_census_has_every_module() -> None:
    counted = {name.partition(".")[0] for name in marked()}
    assert counted >= {*names.MODULES, *names.MAKERS}
    assert all(
        callable(getattr(importlib.import_module(module), name)) for _, module, name in names.of_modules()
    )
