"""Modules of the model that an execution imports: each execution imports them itself, as a new process would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.instrument import import_hook
from dpor.results import AssumptionKind, CheckRequest, ModelResult, ReplayRequest, Verdict
from dpor.runtime import current

HEADER = """
import dpor

shared = []

def in_turn(first, second):
    threads = [dpor.spawn(first), dpor.spawn(second)]
    for thread in threads:
        thread.join()
"""
MODULES = {
    "counter": "n = 0\n",
    "record": """
from __future__ import annotations
import dataclasses

@dataclasses.dataclass
class Record:
    value: Value

class Value:
    pass
""",
    "registry": """
from model import shared
shared.append("registry")
""",
    "package/__init__": "",
    "package/part": "values = [1]\n",
}


ALGORITHMS = ("optimal", "parsimonious", "source", "graph", "concolic", "unfolding")
MODULES |= {
    "first": "import model\nmodel.shared.append('first')\nimport second\nmodel.shared.append(second.__name__)\n",
    "second": "import model\nmodel.shared.append('second')\nimport first\nmodel.shared.append(first.__name__)\n",
    "starting": "import dpor\n\ndef again():\n    import starting\n\ndpor.spawn(again).join()\n",
    "broken": "from model import shared\nshared.append('broken')\nraise RuntimeError('broken')\n",
    "package/optional": "import nothing_of_this_name\n",
    "namespace/registered": "from model import shared\nshared.append('registered')\nDONE = True\n",
    "replaced": "import sys\n\nsys.modules[__name__] = 5\n",
    "base": "class Base:\n    pass\n",
    "derived": "from base import Base\n\nclass Derived(Base):\n    pass\n",
    "package/registered": "from model import shared\nshared.append('registered')\nDONE = True\n",
}


def check(tmp_path: Path, body: str, before: str = "", **options: object) -> ModelResult:
    for name, text in MODULES.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "model.py").write_text(f"{HEADER}\n{before}\n@dpor.model\ndef model():\n{body}")
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))


def test_a_class_is_decorated_in_every_execution(tmp_path: Path) -> None:
    body = """
    import record
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
    assert record.Record(1).value == 1
"""
    result = check(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_its_annotations_are_what_the_module_says(tmp_path: Path) -> None:
    body = """
    import record, typing
    assert typing.get_type_hints(record.Record.__init__)["value"] is record.Value
"""
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED, result


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "random"])
def test_its_state_is_new_in_every_execution(tmp_path: Path, algorithm: str) -> None:
    body = """
    import counter
    from package import part
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
    counter.n += 1
    part.values.append(2)
    assert (counter.n, part.values) == (1, [1, 2])
"""
    result = check(tmp_path, body, algorithm=algorithm, max_executions=20)
    assert result.verdict is not Verdict.VIOLATED
    assert result.executions > 1


def test_its_body_runs_in_every_execution(tmp_path: Path) -> None:
    body = """
    import registry
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
    assert shared[0] == "registry" and len(shared) == 3
"""
    result = check(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


@pytest.mark.share(3)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "load",
    [
        "from package import registered",
        "import package.registered as registered",
        "import importlib; registered = importlib.import_module('package.registered')",
    ],
)
def test_a_thread_waits_for_another_that_loads_the_module(tmp_path: Path, algorithm: str, load: str) -> None:
    body = f"""
    def use():
        {load}
        assert registered.DONE
        shared.append("used")
    in_turn(use, use)
    assert shared == ["registered", "used", "used"]
"""
    result = check(tmp_path, body, algorithm=algorithm)
    assert result.verdict is Verdict.VERIFIED, result
    assert {one.kind for one in result.assumptions} == {AssumptionKind.LATE_IMPORT}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("order", ["[1, 'registered', 2]", "['registered', 1, 2]", "[1, 2, 'registered']"])
def test_other_threads_go_on_while_a_module_is_loaded(tmp_path: Path, algorithm: str, order: str) -> None:
    body = f"""
    def load():
        from package import registered
        assert registered.DONE
    def work():
        shared.append(1)
        shared.append(2)
    in_turn(load, work)
    assert shared != {order}
"""
    assert check(tmp_path, body, algorithm=algorithm).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("loader", [0, 1])
def test_which_thread_loads_the_module_is_explored(tmp_path: Path, loader: int) -> None:
    body = f"""
    loading = []
    def use(number):
        before = len(shared)
        from package import registered
        if len(shared) > before:
            loading.append(number)
    in_turn(lambda: use(0), lambda: use(1))
    assert loading != [{loader}]
"""
    assert check(tmp_path, body).verdict is Verdict.VIOLATED


def test_a_module_that_cannot_be_loaded_is_tried_by_each_thread(tmp_path: Path) -> None:
    body = """
    def use():
        try:
            import broken
        except RuntimeError:
            shared.append("failed")
    in_turn(use, use)
    assert shared.count("broken") == shared.count("failed") == 2
"""
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED, result


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_modules_that_import_each_other_fail_as_in_python(tmp_path: Path, algorithm: str) -> None:
    body = """
    def load_first():
        import first
    def load_second():
        import second
    in_turn(load_first, load_second)
"""
    result = check(tmp_path, body, algorithm=algorithm)
    # CPython has one of two threads that would wait for each other fail, which the statement does not catch.
    assert result.verdict is Verdict.VIOLATED, result
    assert "_DeadlockError" in result.violations[0].message


@pytest.mark.parametrize("threads", [1, 2])
def test_a_module_of_a_kept_package_that_cannot_be_loaded_leaves_nothing(
    tmp_path: Path, threads: int
) -> None:
    body = f"""
    import package
    def use():
        try:
            import package.optional
        except ImportError:
            shared.append("missing")
    threads = [dpor.spawn(use) for _ in range({threads})]
    threads.append(dpor.spawn(shared.append, 1))
    for thread in threads:
        thread.join()
    assert shared.count("missing") == {threads}
"""
    (tmp_path / "top.py").write_text("import package\n")
    for before in ("", "import package\n"):
        result = check(tmp_path, body, before)
        assert result.verdict is Verdict.VERIFIED, result


@pytest.mark.parametrize("package", ["package", "namespace"])
@pytest.mark.parametrize("where", ["at the top", "in the model"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_module_of_a_package_that_was_loaded_before_is_waited_for_too(
    tmp_path: Path, package: str, where: str, algorithm: str
) -> None:
    load = f"import {package}"
    body = f"""
    {load if where == "in the model" else "pass"}
    def use():
        from {package} import registered
        assert registered.DONE
        shared.append("used")
    in_turn(use, use)
    assert shared == ["registered", "used", "used"]
"""
    result = check(tmp_path, body, load if where == "at the top" else "", algorithm=algorithm)
    assert result.verdict is Verdict.VERIFIED, result


def test_a_package_without_a_file_is_new_in_every_execution(tmp_path: Path) -> None:
    body = """
    import sys
    assert "namespace" not in sys.modules
    import namespace
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
"""
    result = check(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_a_module_that_puts_something_else_in_its_place_is_imported(tmp_path: Path) -> None:
    body = """
    def use():
        import replaced
        assert replaced == 5
    in_turn(use, use)
"""
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED, result


def test_classes_of_modules_that_earlier_executions_have_imported_are_gone(tmp_path: Path) -> None:
    body = """
    import derived
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
    assert [one.__name__ for one in Base.__subclasses__()] == ["Derived"]
"""
    result = check(tmp_path, body, "from base import Base\n")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_a_thread_that_loading_a_module_starts_and_that_imports_it_is_refused(tmp_path: Path) -> None:
    body = """
    import starting
"""
    with pytest.raises(DporError) as caught:
        check(tmp_path, body)
    assert caught.value.code is Code.UNCONTROLLED
    assert "imports starting in a thread" in caught.value.message


def test_one_thread_alone_imports_under_every_algorithm(tmp_path: Path) -> None:
    body = """
    from package import registered
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
    assert shared[0] == "registered"
"""
    result = check(tmp_path, body, algorithm="value-centric")
    assert result.verdict is Verdict.VERIFIED, result


def test_what_a_loaded_module_lacks_is_said_as_ever(tmp_path: Path) -> None:
    body = """
    import counter
    try:
        counter.none
    except AttributeError as error:
        assert str(error) == "module 'counter' has no attribute 'none'", error
    try:
        from counter import none
    except ImportError as error:
        assert "partially initialized" not in str(error), error
    assert type(counter.__spec__).__name__ == "ModuleSpec"
"""
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED, result


def test_a_counterexample_with_a_late_import_replays(tmp_path: Path) -> None:
    body = """
    def load():
        from package import registered
    in_turn(load, lambda: shared.append(1))
    assert shared[0] == 1
"""
    schedule = check(tmp_path, body).violations[0].schedule
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), schedule))
    assert replayed.violation is not None


def test_a_package_that_is_not_looked_into_keeps_what_it_imports(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "plain"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import importlib\n\nSETTINGS = importlib.import_module('counter')\n"
    )
    body = """
    import plain
    import counter
    assert plain.SETTINGS is counter
    in_turn(lambda: shared.append(1), lambda: shared.append(2))
"""
    result = check(tmp_path, body, f"import sys\n\nsys.path.insert(0, {str(package.parent)!r})\n")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)
    assert (AssumptionKind.UNSEEN_CODE, "counter") in {(one.kind, one.subject) for one in result.assumptions}


def test_the_import_system_itself_is_not_looked_into(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "outside"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("VALUE = 1\n")
    body = """
    import colorsys
    spec = colorsys.__spec__
    in_turn(lambda: setattr(spec, "origin", "changed"), lambda: shared.append(spec.origin))
    spec.origin = shared[0]
    import outside
"""
    result = check(tmp_path, body, f"import sys\n\nsys.path.insert(0, {str(package.parent)!r})\n")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)
    # Its own body is all that nobody has seen.
    assert [one.subject for one in result.assumptions] == ["outside"]


def test_no_hook_sees_how_the_checker_compiles_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[bool] = []
    real = import_hook.compile_instrumented

    def compile_instrumented(*args: Any, **kwargs: Any) -> Any:
        host = current.current_host()
        if host is not None and host.execution:
            before = host.sleep(True)
            host.sleep(before)
            slept.append(before)
        return real(*args, **kwargs)

    monkeypatch.setattr(import_hook, "compile_instrumented", compile_instrumented)
    result = check(tmp_path, "    import ast\n    list(ast.walk(ast.parse('1')))\n    import counter")
    assert result.verdict is Verdict.VERIFIED
    assert slept == [True]
