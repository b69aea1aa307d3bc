"""Modules of the model that an execution imports: each execution imports them itself, as a new process would."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

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
