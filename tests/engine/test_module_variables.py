"""Variables of a module that other modules read and store, as attributes of the module."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HELPER = """
flag = 0

def get():
    return flag

def set():
    global flag
    flag = 1
"""

MODEL = """
import sys
import dpor
import helper

@dpor.model
def model():
    def write():
        {write}
    dpor.spawn(write)
    {check}
"""


def check(folder: Path, write: str, failing: str, **options: object) -> ModelResult:
    (folder / "pyproject.toml").touch()
    (folder / "helper.py").write_text(HELPER, encoding="utf-8")
    file = folder / "model.py"
    file.write_text(MODEL.format(write=write, check=failing), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options, all_violations=True))


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "parsimonious", "graph"])
@pytest.mark.parametrize("failing", ["assert helper.flag == 0", "assert helper.get() == 0"])
@pytest.mark.parametrize(
    "write",
    [
        "helper.set()",
        "helper.flag = 1",
        "setattr(helper, 'flag', 1)",
        "sys.modules['helper'].flag = 1",
        "vars(helper)['flag'] = 1",
    ],
)
def test_a_store_is_seen_wherever_it_is_made(
    tmp_path: Path, write: str, failing: str, algorithm: str
) -> None:
    result = check(tmp_path, write, failing, algorithm=algorithm)
    assert result.verdict is Verdict.VIOLATED
    assert result.executions == 2


STORES = {
    "__private": ("helper.__private = 1", "setattr(helper, '__private', 1)", "vars(helper)['__private'] = 1"),
    "__doc__": (
        "helper.__doc__ = 'z'",
        "vars(helper)['__doc__'] = 'z'",
        "helper.__setattr__('__doc__', 'z')",
    ),
    "__name__": ("helper.__name__ = 'z'", "vars(helper)['__name__'] = 'z'"),
    "__annotations__": ("helper.__annotations__ = {'a': int}", "helper.__annotations__['a'] = int"),
    "flag": ("helper.__setattr__('flag', 1)", "object.__setattr__(helper, 'flag', 1)"),
}
LOADS = ("helper.{}", "getattr(helper, '{}', None)", "helper.__getattribute__('{}')")


@pytest.mark.parametrize("name", STORES)
def test_a_store_to_any_name_is_seen(tmp_path: Path, name: str) -> None:
    for store in STORES[name]:
        for load in LOADS:
            (tmp_path / "helper.py").write_text(f"{HELPER}\n__private = 0\n")
            text = f"""
import dpor
import helper

former = repr({load.format(name)})

@dpor.model
def model():
    def write():
        {store}
    thread = dpor.spawn(write)
    found = repr({load.format(name)})
    thread.join()
    assert (found == former) is not UNWANTED
"""
            other = text.replace("def model", "def other").replace("UNWANTED", "False")
            (tmp_path / "model.py").write_text(text.replace("UNWANTED", "True") + other)
            for model in ("model", "other"):
                result = check_model(CheckRequest("model.py", model, str(tmp_path)))
                assert result.verdict is Verdict.VIOLATED, (store, load, model)
                assert "assertion failed" in str(result), (store, load, model)


LIBRARY = {
    "variable": ("os.sep = 9", "os.sep", 9),
    "function": ("os.getcwd = lambda: 9", "os.getcwd()", 9),
    "mapping": ("os.environ = {'NEW': 1}", "'NEW' in os.environ", True),
    "private": ("json.__version__ = 9", "json.__version__", 9),
    "module in C": ("math.pi = 9", "math.pi", 9),
    "used inside": ("textwrap._whitespace = 'x'", "textwrap._whitespace", "x"),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_a_store_to_a_variable_of_the_library_is_found_in_both_orders(tmp_path: Path, name: str) -> None:
    store, load, new = LIBRARY[name]
    for unwanted in (f"found == {new!r}", f"found != {new!r}"):
        (tmp_path / "model.py").write_text(f"""
import json, math, os, textwrap
import dpor

@dpor.model
def model():
    def write():
        {store}
    thread = dpor.spawn(write)
    found = {load}
    thread.join()
    assert not ({unwanted})
""")
        result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
        assert result.verdict is Verdict.VIOLATED, unwanted
        assert "assertion failed" in str(result)


def test_a_deletion_is_seen(tmp_path: Path) -> None:
    assert check(tmp_path, "del helper.flag", "assert hasattr(helper, 'flag')").executions == 2


def test_a_variable_that_the_module_does_not_define_is_seen(tmp_path: Path) -> None:
    result = check(tmp_path, "helper.new = 1", "assert not hasattr(helper, 'new')")
    assert result.verdict is Verdict.VIOLATED


def test_a_function_that_is_replaced_is_seen(tmp_path: Path) -> None:
    result = check(tmp_path, "helper.get = lambda: 1", "assert helper.get() == 0")
    assert result.verdict is Verdict.VIOLATED


def test_every_execution_begins_with_the_module_as_it_was_written(tmp_path: Path) -> None:
    result = check(tmp_path, "helper.flag += 1", "dpor.join_all(); assert helper.flag == 1")
    assert result.verdict is Verdict.VERIFIED


PROPERTY = """
import dpor

class Held:
    @property
    def value(self):
        return 1

    @value.setter
    def value(self, value):
        pass

    @value.deleter
    def value(self):
        pass

@dpor.model
def model():
    held = Held()
    missing = []
    def remove():
        try:
            del held.value
        except AttributeError:
            missing.append(1)
    def replace():
        Held.value = 3
        held.value = 6
    dpor.spawn(remove)
    dpor.spawn(replace)
    dpor.join_all()
    assert not missing
"""


@pytest.mark.parametrize(
    "algorithm", ["optimal", "source", "exhaustive", "parsimonious", "unfolding", "graph"]
)
def test_a_descriptor_that_is_replaced_is_seen_by_a_deletion(tmp_path: Path, algorithm: str) -> None:
    (tmp_path / "model.py").write_text(PROPERTY, encoding="utf-8")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path), options={"algorithm": algorithm}))
    assert result.verdict is Verdict.VIOLATED


def test_an_import_that_finds_nothing_has_looked(tmp_path: Path) -> None:
    lines = "del helper.flag\n    try:\n        from helper import flag\n    except ImportError:\n        flag = 0"
    write = "try: helper.flag = helper.flag + 1\n        except AttributeError: pass"
    assert check(tmp_path, write, f"{lines}\n    assert flag == 0").verdict is Verdict.VIOLATED
    assert check(tmp_path, "pass", f"{lines}\n    assert flag == 0").verdict is Verdict.VERIFIED


def test_an_import_of_what_is_not_there_fails_as_in_plain_python(tmp_path: Path) -> None:
    failing = "try:\n        from helper import missing\n    except ImportError as e:\n        told = str(e)"
    failing += "\n    assert told.startswith(\"cannot import name 'missing' from 'helper'\")"
    assert check(tmp_path, "pass", failing).verdict is Verdict.VERIFIED
