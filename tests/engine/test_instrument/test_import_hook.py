from __future__ import annotations

import builtins
import importlib
import inspect
import opcode
import os
import pkgutil
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpor.instrument
from dpor.instrument.hooks import hook_entries
from dpor.instrument.import_hook import CodeCache, Instrumentation

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files of a project whose root is importable."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(name: str, source: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        importlib.invalidate_caches()
        return path

    return write


def put_hooks(hooks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, hook in hooks.entries().items():
        monkeypatch.setitem(builtins.__dict__, name, hook)


@pytest.fixture
def instrument(
    tmp_path: Path, hooks: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Instrumentation]]:
    """Install an instrumentation of the project."""
    installed: list[Instrumentation] = []
    put_hooks(hooks, monkeypatch)

    def instrument(*packages: str, **options: Any) -> Instrumentation:
        root = options.pop("root", tmp_path)
        instrumentation = Instrumentation(root, packages, hooks, **options)
        instrumentation.install()
        installed.append(instrumentation)
        return instrumentation

    yield instrument
    for instrumentation in installed:
        instrumentation.uninstall()


@pytest.fixture
def is_instrumented(hooks: Any) -> Callable[[Any], bool]:
    return lambda module: hooks.is_instrumented(vars(module))


def test_a_file_and_what_it_imports_is_instrumented(
    write: Write, instrument: Any, is_instrumented: Any
) -> None:
    path = write(
        "hook_main.py", "import hook_pack.inner, opcode\nfrom hook_pack import other\nvalue = other.name"
    )
    write("hook_pack/__init__.py", "from . import inner as renamed")
    write("hook_pack/inner.py", "x = [1]\nx += [2]\ny = x or 0")
    write("hook_pack/other.py", "from .inner import x\nname = __name__")
    instrumentation = instrument()
    module = instrumentation.load_file(path, "hook_main")
    assert module is sys.modules["hook_main"]
    assert (module.value, module.__file__) == ("hook_pack.other", str(path))
    assert instrumentation.modules == ["hook_main", "hook_pack", "hook_pack.inner", "hook_pack.other"]
    assert {file.name for file in instrumentation.files} == {
        "hook_main.py",
        "__init__.py",
        "inner.py",
        "other.py",
    }
    assert all(is_instrumented(sys.modules[name]) for name in instrumentation.modules)
    assert not is_instrumented(opcode)
    assert not [name for name in vars(sys.modules["hook_pack.inner"]) if "dpor" in name]


@pytest.mark.parametrize("folder", ["site-packages", ".tox/py", "node_modules", "environment"])
def test_foreign_folders_stay_plain_unless_named(
    write: Write,
    instrument: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    is_instrumented: Any,
) -> None:
    write("environment/pyvenv.cfg", "")
    write(f"{folder}/hook_foreign/__init__.py", "x = 1")
    write(f"{folder}/hook_foreign/sub.py", "x = 1")
    monkeypatch.syspath_prepend(str(tmp_path / folder))
    instrument()
    assert not is_instrumented(importlib.import_module("hook_foreign.sub"))
    instrument("hook_foreign")
    assert is_instrumented(importlib.import_module("hook_foreign.sub"))


def test_the_checker_itself_is_never_instrumented(
    instrument: Any, monkeypatch: pytest.MonkeyPatch, is_instrumented: Any
) -> None:
    instrument("dpor", "greenlet", root=Path(__file__).resolve().parents[3])
    monkeypatch.delitem(sys.modules, "dpor.instrument.first_party")
    assert not is_instrumented(importlib.import_module("dpor.instrument.first_party"))


def test_modules_imported_before_are_imported_afresh_and_come_back(
    write: Write, instrument: Any, is_instrumented: Any
) -> None:
    write("hook_early.py", "state = []")
    plain = importlib.import_module("hook_early")
    instrumentation = instrument()
    assert is_instrumented(importlib.import_module("hook_early"))
    instrumentation.uninstall()
    assert importlib.import_module("hook_early") is plain
    del sys.modules["hook_early"]


def test_reload_all_gives_fresh_state_and_fresh_submodules(write: Write, instrument: Any) -> None:
    path = write("hook_state.py", "import hook_space.part\nfrom hook_space import part\npart.state.append(1)")
    write("hook_space/part.py", "state = []")
    instrumentation = instrument()
    first = instrumentation.load_file(path, "hook_state")
    second = instrumentation.reload_all()["hook_state"]
    assert first is not second
    assert first.part is not second.part
    assert second.part is sys.modules["hook_space.part"]
    assert (first.part.state, second.part.state) == ([1], [1])
    assert instrumentation.modules == ["hook_state", "hook_space.part"]


def test_a_file_that_changes_during_a_check_is_the_same_in_all_executions(
    write: Write, instrument: Any
) -> None:
    path = write("hook_changing.py", "value = 1")
    code_cache = CodeCache()
    instrumentation = instrument(code_cache=code_cache)
    assert instrumentation.load_file(path, "hook_changing").value == 1
    path.write_text("value = 2")
    assert instrumentation.reload_all()["hook_changing"].value == 1
    assert instrument(code_cache=code_cache).load_file(path, "hook_changing").value == 2


def test_an_overlay_stands_in_for_the_file(write: Write, instrument: Any) -> None:
    path = write("hook_overlay.py", "def f(): return 1")
    text = "\n\ndef f():\n    return [][0]\n"
    instrumentation = instrument(overlay={path: text})
    module = instrumentation.load_file(path, "hook_overlay")
    assert inspect.getsource(module.f) == "def f():\n    return [][0]\n"
    with pytest.raises(IndexError) as caught:
        module.f()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(f.lineno, f.line) for f in frames if f.filename == str(path)] == [(4, "return [][0]")]


def test_a_syntax_error_names_file_and_position(write: Write, instrument: Any) -> None:
    path = write("hook_broken.py", "x = 1\ny = = 2\n")
    with pytest.raises(SyntaxError) as caught:
        instrument().load_file(path, "hook_broken")
    assert (caught.value.filename, caught.value.lineno, caught.value.offset) == (str(path), 2, 5)
    assert "hook_broken" not in sys.modules


def test_rebound_globals_go_through_hooks(
    write: Write, logging_hooks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_hooks(logging_hooks, monkeypatch)
    path = write("hook_rebound.py", "flag = 1\ndef f(): return flag\n")
    instrumentation = Instrumentation(
        path.parent, (), logging_hooks, rebound={"hook_rebound": frozenset({"flag"})}
    )
    module = instrumentation.load_file(path, "hook_rebound")
    assert module.f() == 1
    assert [(name, where) for name, _, where in logging_hooks.log] == [
        ("store_global", "1:0-1:8"),
        ("load_global", "2:16-2:20"),
    ]
    instrumentation.uninstall()


def test_resources_sources_and_packages_can_be_found(write: Write, instrument: Any) -> None:
    write("hook_data/__init__.py", "'Doc.'\nimport importlib.resources\nx = 1")
    write("hook_data/leaf.py", "x = 1")
    write("hook_data/data.txt", "text")
    instrument()
    module = importlib.import_module("hook_data")
    assert importlib.resources.files("hook_data").joinpath("data.txt").read_text() == "text"
    assert pkgutil.get_data("hook_data", "data.txt") == b"text"
    assert [entry.name for entry in pkgutil.iter_modules(module.__path__)] == ["leaf"]
    assert inspect.getsource(module).startswith("'Doc.'")
    assert module.__spec__ is not None
    assert module.__package__ == "hook_data"
    assert inspect.getdoc(module) == "Doc."


def test_assertions_stay_under_optimisation() -> None:
    script = (
        "from dpor.instrument.transformer import compile_instrumented as c\n"
        "assert False, 'gone'\n"
        "print('x' in c('assert x', 'a').co_names)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(dpor.instrument.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-O", "-c", script], env=environment, capture_output=True, check=True
    )
    assert done.stdout.strip() == b"True"


def test_missing_hooks_are_named() -> None:
    with pytest.raises(KeyError, match="load_attribute"):
        hook_entries({}, bool)
