"""Modules of the model that an execution imports: each execution imports them itself, as a new process would."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict

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


ALGORITHMS = ("optimal", "parsimonious", "source", "exhaustive", "graph", "concolic", "unfolding")
MODULES |= {
    "first": "import model\nmodel.shared.append('first')\nimport second\nmodel.shared.append(second.__name__)\n",
    "second": "import model\nmodel.shared.append('second')\nimport first\nmodel.shared.append(first.__name__)\n",
    "starting": "import dpor\n\ndef again():\n    import starting\n\ndpor.spawn(again).join()\n",
    "broken": "from model import shared\nshared.append('broken')\nraise RuntimeError('broken')\n",
    "package/registered": "from model import shared\nshared.append('registered')\nDONE = True\n",
}


def check(tmp_path: Path, body: str, **options: object) -> ModelResult:
    for name, text in MODULES.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "model.py").write_text(f"{HEADER}\n@dpor.model\ndef model():\n{body}")
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
    assert not result.assumptions


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


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_module_of_a_package_that_was_loaded_before_is_waited_for_too(
    tmp_path: Path, algorithm: str
) -> None:
    body = """
    import package
    def use():
        from package import registered
        assert registered.DONE
        shared.append("used")
    in_turn(use, use)
    assert shared == ["registered", "used", "used"]
"""
    result = check(tmp_path, body, algorithm=algorithm)
    assert result.verdict is Verdict.VERIFIED, result


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


def test_modules_that_import_each_other_end_in_no_deadlock(tmp_path: Path) -> None:
    body = """
    def load(name):
        __import__(name)
    in_turn(lambda: load("first"), lambda: load("second"))
"""
    result = check(tmp_path, body)
    assert result.verdict is not Verdict.ERROR, result
    assert all("deadlock:" not in one.message for one in result.violations), result


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
