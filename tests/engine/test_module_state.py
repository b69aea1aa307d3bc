"""What an execution changes of the model's modules is not there in the next, whether it is put back or the modules are
loaded afresh.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HEADER = """
import collections
import enum
import functools
import logging
import mimetypes
import string
import dpor

NUMBER = 0
LIST = [1]
DICT = {"a": {"b": [1]}}
SET = {1}
QUEUE = collections.deque([1])

class Colour(enum.Flag):
    RED = 1
    BLUE = 2
    GREEN = 4

class Registry:
    items = {}
    def __init__(self):
        self.log = []
        self.size = 0

REGISTRY = Registry()

def default(x, seen=[]):
    seen.append(x)
    return len(seen)

def outer():
    kept = []
    def inner():
        kept.append(1)
        return len(kept)
    return inner

outer.old = 1
INNER = outer()

def numbers():
    yield from (1, 2, 3)

NUMBERS = numbers()

def bump():
    global NUMBER
    NUMBER += 1
    return NUMBER

"""
MODEL = """
@dpor.model
def model():
    dpor.choose(range(3))
    {body}
"""
# Every other execution is given up, and changes everything on its way out.
GIVEN_UP = """
def change():
    {body}

@dpor.model
def model():
    number = dpor.choose(range(4))
    try:
        dpor.assume(number % 2 == 1)
        change()
    finally:
        if number % 2 == 0:
            change()
"""
# What is changed when objects are let go: by themselves, or with garbage that nobody reaches.
LET_GO = """
def change():
    {body}

class Ending:
    def __init__(self, garbage):
        if garbage:
            self.me = self
    def __del__(self):
        change()

@dpor.model
def model():
    number = dpor.choose(range(600))
    if number in (0, 599):
        change()
    else:
        ending = Ending(number < 400)
        def keeps():
            return ending
        dpor.spawn(keeps).join()
"""
# What each execution does, and what it must then find.
PUT_BACK = {
    "a variable": "assert bump() == 1",
    "a variable that is deleted": "global LIST\n    del LIST\n    assert 'LIST' not in globals()",
    "a list": "LIST.append(2)\n    assert LIST == [1, 2]",
    "a list in a dict in a dict": "DICT['a']['b'].append(2)\n    assert DICT == {'a': {'b': [1, 2]}}",
    "a dict": "DICT['c'] = 1\n    del DICT['a']\n    assert DICT == {'c': 1}",
    "the order of a dict": "DICT.setdefault('0', 0)\n    assert list(DICT) == ['a', '0']",
    "a set": "SET.add(2)\n    assert SET == {1, 2}",
    "a list of an instance": "REGISTRY.log.append(1)\n    assert REGISTRY.log == [1]",
    "a dict of a class": "Registry.items['x'] = 1\n    assert len(Registry.items) == 1",
    "a default value": "assert default(1) == 1",
    "a list of a closure": "assert INNER() == 1",
    "an attribute of a function": "assert not hasattr(bump, 'new')\n    bump.new = 1\n    bump.new = 2",
    "an attribute of a function that is deleted": (
        "assert outer.old == 1\n    del outer.old\n    assert not hasattr(outer, 'old')\n    outer.old = 2"
    ),
    "the name of a function": "assert bump.__name__ == 'bump'\n    bump.__name__ = 'changed'",
    "the code of a function": "assert default(1) == 1\n    default.__code__ = (lambda x, seen: 7).__code__",
    "an attribute": "REGISTRY.size += 1\n    assert REGISTRY.size == 1",
    "an attribute that is new": "assert not hasattr(REGISTRY, 'new')\n    REGISTRY.new = 1",
    "an attribute of a class": "assert not hasattr(Registry, 'new')\n    Registry.new = 1",
    "a deque": "QUEUE.append(2)\n    assert list(QUEUE) == [1, 2]",
    "what a decorator sets": "assert not hasattr(outer, '__wrapped__')\n    functools.wraps(bump)(outer)",
}
LOADED_AFRESH = {
    "a generator": "assert next(NUMBERS) == 1",
}
FLAGS = {
    "a flag that a call combines": "assert 3 not in Colour._value2member_map_\n    Colour(3)",
    "a flag that an operator combines": (
        "assert 3 not in Colour._value2member_map_\n    assert Colour.RED | Colour.BLUE is Colour(3)"
    ),
    "a complement": "assert Colour.RED._inverted_ is None\n    assert ~~Colour.RED is Colour.RED",
    "a complement that is a combination": (
        "assert '_inverted_' not in vars(Colour.RED)\n    assert ~Colour.RED is Colour.BLUE | Colour.GREEN"
    ),
    "an attribute of a combined flag": (
        "assert not hasattr(Colour(5), 'new')\n    Colour(5).new = 1\n    assert (Colour.RED | Colour.GREEN).new == 1"
    ),
}
OF_THE_LIBRARY = {
    "a dict of a module of the library that runs no code": (
        "assert mimetypes.types_map.setdefault('.new', 1) == 1\n    mimetypes.types_map['.new'] = 2"
    ),
    "an attribute of a module of the library": "assert not hasattr(string, 'new')\n    string.new = 1",
    "an attribute of a class of the library": "assert not hasattr(string.Template, 'new')\n    string.Template.new = 1",
    "a special method of a class of the library": (
        "assert not hasattr(string.Template, '__len__')\n    string.Template.__len__ = len"
    ),
    "a name of a class of the library": (
        "assert string.Template.__name__ == 'Template'\n    string.Template.__name__ = 'Changed'"
    ),
    "an attribute of a function of the library": (
        "assert not hasattr(string.capwords, 'new')\n    string.capwords.new = 1"
    ),
    "a registry of the library": (
        "logging.getLogger('a').propagate ^= True\n    assert not logging.getLogger('a').propagate"
    ),
}
CASES = {**PUT_BACK, **LOADED_AFRESH, **FLAGS, **OF_THE_LIBRARY}
WAYS = ({}, {"algorithm": "exhaustive"}, {"algorithm": "graph"}, {"memory_model": "pso"})


def check(folder: Path, body: str, model: str = MODEL, **options: object) -> ModelResult:
    file = folder / "stateful.py"
    file.write_text(HEADER + model.format(body=body), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_every_execution_finds_what_the_module_made(tmp_path: Path, name: str, way: dict[str, str]) -> None:
    result = check(tmp_path, CASES[name], **way)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions == 3


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_what_an_execution_changes_on_its_way_out_is_put_back(
    tmp_path: Path, name: str, way: dict[str, str]
) -> None:
    result = check(tmp_path, CASES[name], GIVEN_UP, **way)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert (result.executions, result.blocked) == (2, 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", CASES)
def test_what_is_changed_where_objects_end_is_put_back(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, CASES[name], LET_GO)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions == 600


# A destructor that uses its object, which holds another one with a destructor.
NESTED = """
class Inner:
    def __del__(self):
        LIST.append(2)

class Outer:
    def __init__(self):
        self.name, self.inner = "outer", Inner()
    def __del__(self):
        assert self.name

@dpor.model
def model():
    assert LIST == [1], LIST
    outer = Outer()
    def keeps():
        return outer
    dpor.spawn(keeps).join()
    dpor.choose(range(3))
"""


def test_what_is_changed_where_objects_of_ending_objects_end_is_put_back(tmp_path: Path) -> None:
    result = check(tmp_path, "", NESTED)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions == 3


@pytest.mark.parametrize("name", [*PUT_BACK, *LOADED_AFRESH])
def test_modules_are_loaded_afresh_only_for_what_cannot_be_put_back(
    tmp_path: Path, name: str, reloads: list[str]
) -> None:
    check(tmp_path, {**PUT_BACK, **LOADED_AFRESH}[name])
    assert bool(reloads) is (name in LOADED_AFRESH)


def test_a_package_that_is_loaded_afresh_is_so_once_for_each_execution(
    tmp_path: Path, reloads: list[str]
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    names = [f"part_{number}" for number in range(5)]
    imports = "\n".join(f"from package.{name} import value as {name}_value" for name in names)
    (package / "__init__.py").write_text(f"{imports}\nNUMBERS = (n for n in range(9))\n", encoding="utf-8")
    for name in names:
        (package / f"{name}.py").write_text("value = 1\n", encoding="utf-8")
    (tmp_path / "model.py").write_text(
        "import dpor\nimport package\n\n@dpor.model\ndef model():\n"
        "    dpor.choose(range(3))\n    assert next(package.NUMBERS) == 0\n",
        encoding="utf-8",
    )
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 3), result.violations
    # The first time is to learn that they are.
    assert len(reloads) <= 4


def test_names_that_a_module_binds_when_they_are_asked_for_are_learned_together(
    tmp_path: Path, reloads: list[str]
) -> None:
    (tmp_path / "lazy.py").write_text(
        "def __getattr__(name):\n    value = globals()[name] = name.upper()\n    return value\n",
        encoding="utf-8",
    )
    names = [f"name_{number}" for number in range(20)]
    values = " + ".join(f"lazy.{name}" for name in names)
    (tmp_path / "model.py").write_text(
        "import dpor\nimport lazy\n\n@dpor.model\ndef model():\n    dpor.choose(range(3))\n"
        f"    assert {values} == {''.join(names).upper()!r}\n    assert lazy.name_0 == 'NAME_0'\n",
        encoding="utf-8",
    )
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 3), result.violations
    assert len(reloads) < 5


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_module_that_a_model_imports_while_it_runs_is_new_each_time(
    tmp_path: Path, way: dict[str, str]
) -> None:
    (tmp_path / "late.py").write_text(
        "number = 0\n\ndef bump():\n    global number\n    number += 1\n    return number\n", encoding="utf-8"
    )
    body = "import late\n    assert late.bump() == 1\n    assert late.number == 1"
    result = check(tmp_path, body, **way)
    assert result.verdict is Verdict.VERIFIED, result.violations
