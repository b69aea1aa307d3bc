"""What no schedule controls, and what is not the same again, is reported and never passed."""

from __future__ import annotations

import ast
import gc
import linecache
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpor.codes import Code
from dpor.errors import DporError

FOLDER = Path(__file__).resolve().parent / "refused"
UNCONTROLLED = FOLDER / "uncontrolled.py"
NONDETERMINISTIC = FOLDER / "nondeterministic.py"


def _refused() -> dict[str, str]:
    for node in ast.parse(UNCONTROLLED.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REFUSED":
            return ast.literal_eval(node.value)
    raise LookupError("REFUSED")


@pytest.mark.parametrize(("model", "message"), _refused().items())
def test_a_model_that_escapes_control_is_refused(model: str, message: str, check: Any) -> None:
    with pytest.raises(DporError) as caught:
        check(UNCONTROLLED, model)
    assert caught.value.code is Code.UNCONTROLLED
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("starts_a_process", 'subprocess.run([sys.executable, "-c", ""], check=True)'),
        ("runs_a_shell_command", 'os.system("true")'),
        ("starts_a_thread_in_c", "starts_a_thread_in_c"),
    ],
)
def test_what_escapes_control_is_named_at_the_call_that_does(model: str, text: str, check: Any) -> None:
    with pytest.raises(DporError) as caught:
        check(UNCONTROLLED, model)
    span = caught.value.span
    assert span is not None
    assert Path(span.file).name == UNCONTROLLED.name
    line = UNCONTROLLED.read_text(encoding="utf-8").splitlines()[span.line - 1]
    assert line[span.column - 1 :].startswith(text)
    if span.end_column is not None:
        assert line[span.column - 1 : span.end_column - 1] == text
    assert caught.value.message.startswith(f"{model} ")
    assert "the model" not in caught.value.message


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Remove what the models leave behind."""
    yield
    linecache.cache.pop("dpor-number", None)
    sys.path_importer_cache.pop("dpor-number", None)


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    "algorithm", ["optimal", "source", "parsimonious", "unfolding", "graph", "concolic", "value-centric"]
)
@pytest.mark.parametrize("start", [0, 1, 2])
def test_a_model_that_is_not_the_same_again_is_refused(algorithm: str, start: int, check: Any) -> None:
    # What the model counts by: where it begins decides which execution is the first to differ.
    while gc.get_stats()[2]["collections"] % 3 != start:
        gc.collect()
    with pytest.raises(DporError) as caught:
        check(NONDETERMINISTIC, "counter_in_the_interpreter", algorithm=algorithm)
    assert caught.value.code is Code.NONDETERMINISTIC


@pytest.mark.usefixtures("forgotten")
def test_what_is_not_the_same_again_is_told_with_its_place(check: Any) -> None:
    with pytest.raises(DporError) as caught:
        check(NONDETERMINISTIC, "another_operation")
    assert re.search(
        r"thread main\.\d was about to (read, not to write|write, not to read)", caught.value.message
    )
    assert caught.value.span is not None
    lines = NONDETERMINISTIC.read_text(encoding="utf-8").splitlines()
    assert lines[caught.value.span.line - 1].endswith("# another_operation")
