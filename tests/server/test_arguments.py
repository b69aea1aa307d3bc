"""The command line is read as documented, and what it does not accept is explained."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dpor.codes import Code
from dpor.errors import DporError
from dpor.options import OPTIONS
from dpor_lsp.cli.arguments import Mode, parse
from dpor_lsp.options import ENGINE_OPTIONS


def refused(*words: str) -> DporError:
    with pytest.raises(DporError) as caught:
        parse(words)
    return caught.value


def test_everything_that_checks_is_read() -> None:
    checked = [
        "--check",
        "a.py::m",
        "--jobs",
        "3",
        "b",
        "--set",
        "n=2",
        "--set",
        "name=x",
        "--all-violations",
    ]
    explored = ["--algorithm", "source", "--timeout", "2.5", "--preemption-bound", "0"]
    reported = ["--no-cache", "--memory-limit", "512M", "--format", "json", "--output", "r.json"]
    arguments = parse([*checked, *explored, *reported])
    assert arguments.mode is Mode.CHECK
    assert arguments.paths == ("a.py::m", "b")
    assert arguments.engine == {"algorithm": "source", "timeout": 2.5, "preemption_bound": 0}
    assert arguments.assignments == ("n=2", "name=x")
    assert (arguments.jobs, arguments.memory_limit, arguments.cache) == (3, 512 << 20, False)
    assert (arguments.format, arguments.output, arguments.all_violations) == ("json", "r.json", True)


TEXTS = (
    "main",
    "main.0",
    "worker",
    "optimal",
    "none",
    "0",
    "1",
    "2",
    "2.5",
    "rf",
    "library",
    "any",
    "tso",
    "source",
    "true",
    "warn",
    "x",
    "",
)


@pytest.mark.parametrize("name", [name for name in ENGINE_OPTIONS if name != "strict"])
def test_an_option_accepts_on_the_command_line_what_it_accepts_in_a_model(name: str) -> None:
    def value_by(read: Callable[[], Any]) -> Any:
        try:
            value = read()
        except DporError as error:
            return error.code
        return value.value if isinstance(value, enum.Enum) else value

    flag = "--" + name.replace("_", "-")
    accepted = [value_by(partial(OPTIONS[name].parse, text)) for text in TEXTS]
    assert [
        value_by(lambda text=text: parse(["--check", flag, text]).engine[name]) for text in TEXTS
    ] == accepted
    # Each has something that it accepts, and something that it does not.
    assert {Code.BAD_OPTION} < set(accepted)


def test_strict_takes_no_value() -> None:
    assert parse(["--check", "--strict", "bank.py"]).engine == {"strict": True}
    assert parse(["--check", "--strict", "bank.py"]).paths == ("bank.py",)
    assert parse(["--check", "--no-strict"]).engine == {"strict": False}


def test_the_words_of_the_algorithms_options_are_read() -> None:
    assert parse(["--check", "--k", "optimal"]).engine == {"k": None}
    assert parse(["--check", "--k", "3"]).engine == {"k": 3}
    assert parse(["--check", "--root", "main.0"]).engine == {"root": "main.0"}
    assert parse(["--check", "--partition", "rf"]).engine == {"partition": "rf"}


def test_nothing_means_the_language_server() -> None:
    assert parse([]).mode is Mode.SERVE
    assert parse(["--stdio"]).mode is Mode.SERVE


@pytest.mark.parametrize(
    ("words", "message", "fix"),
    [
        (
            ["--check", "--algorithm", "optmal"],
            "--algorithm does not accept 'optmal'",
            "did you mean 'optimal'?",
        ),
        (["--check", "--format", "xml"], "--format does not accept 'xml'", "one of text, json, sarif"),
        (["--check", "--jobs", "0"], "--jobs does not accept '0'", "at least 1"),
        (["--check", "--timeout", "soon"], "--timeout does not accept 'soon'", "seconds"),
        (["--check", "--timeout", "inf"], "--timeout does not accept 'inf'", "seconds"),
        (["--check", "--k", "all"], "--k does not accept 'all'", "at least 1, or optimal"),
        (["--check", "--root", "worker"], "--root does not accept 'worker'", "such as main.0"),
        (["--check", "--memory-limit", "1K"], "--memory-limit does not accept '1K'", "2G"),
        (["--chek"], "--chek", "did you mean '--check'?"),
        (["bank.py"], "bank.py", "did you mean dpor-lsp --check bank.py?"),
        (["--check", "--list"], "--check and --list exclude each other", "one of them"),
        (["--check", "--schedule", "x"], "--schedule needs --replay", ""),
        (["--check", "--watch", "--format", "json"], "--watch", ""),
        (["--list", "--format", "junit"], "--list does not accept --format junit", "text and json"),
        (["--replay"], "expected one argument", ""),
    ],
)
def test_what_is_not_accepted_is_coded_and_explained(words: list[str], message: str, fix: str) -> None:
    error = refused(*words)
    assert error.code is Code.BAD_OPTION
    assert message in error.message
    assert fix in error.fix
