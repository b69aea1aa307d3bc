"""A model's standard output is the same object in every execution, whatever was redirected, and prints in the first."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HEAD = """
import contextlib
import io
import sys

import dpor

@dpor.model
def model():
    shared = dpor.Atomic(0)
    def work():
        shared.fetch_add(1)
"""


def check(folder: Path, body: str) -> ModelResult:
    file = folder / "model.py"
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + "    dpor.join_all()\n"
    file.write_text(text, encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder)))


TWO = "dpor.spawn(work)\ndpor.spawn(work)\n"


def test_only_the_first_execution_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = check(
        tmp_path, TWO + "print('once')\nsys.stdout.write('again')\nprint('error', file=sys.stderr)"
    )
    assert result.executions == 2
    assert capsys.readouterr() == ("once\nagain", "error\n")


@pytest.mark.parametrize(
    "reads",
    [
        "assert sys.stdout.encoding",
        "assert sys.stdout.writable() and not sys.stdout.closed",
        "assert type(sys.stdout) is type(sys.stderr) and sys.stdout is not sys.stderr",
        "assert sys.stdout.write('abc') == 3",
        "try:\n    sys.stdout.write(b'abc')\nexcept TypeError:\n    pass\nelse:\n    assert False",
        "with sys.stdout:\n    pass\nprint('not closed')",
    ],
)
def test_what_a_model_sees_of_standard_output_is_the_same_in_every_execution(
    tmp_path: Path, reads: str
) -> None:
    result = check(tmp_path, TWO + reads)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_what_is_redirected_does_not_outlive_its_execution(tmp_path: Path) -> None:
    body = "assert not isinstance(sys.stdout, io.StringIO)\nsys.stdout = io.StringIO()"
    result = check(tmp_path, TWO + body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_output_can_be_redirected_in_every_execution(tmp_path: Path) -> None:
    body = """with contextlib.redirect_stdout(io.StringIO()) as caught:
    print("hidden", end="")
assert caught.getvalue() == "hidden"
"""
    result = check(tmp_path, TWO + body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_the_process_has_its_own_streams_back_afterwards(tmp_path: Path) -> None:
    import sys

    before = (sys.stdout, sys.stderr)
    check(tmp_path, "sys.stdout = None")
    assert (sys.stdout, sys.stderr) == before


def test_the_first_execution_that_is_not_given_up_prints_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import inspect\nimport dpor\n\ndef work():\n    pass\n\n@dpor.model\ndef model():\n    print('before')\n"
        "    dpor.spawn(work).join()\n    print(inspect.getclosurevars(work).globals, 'after')\n"
    )
    printed = io.StringIO()

    def forget() -> None:
        printed.truncate(0)
        printed.seek(0)

    begun: list[str] = []
    with contextlib.redirect_stdout(printed):
        check_model(
            CheckRequest(str(path), "model", str(tmp_path)),
            on_output=lambda: (begun.append(printed.getvalue()), forget()),
        )
    # Code of `inspect` is instrumented first.
    assert begun == ["", "before\n"]
    assert printed.getvalue() == "before\n{} after\n"
