"""The command line: what it accepts, its help, and its reading into one value."""

from __future__ import annotations

import argparse
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from dpor.codes import Code
from dpor.errors import DporError
from dpor.options import OPTIONS
from dpor_lsp.options import ENGINE_OPTIONS, FORMATS, did_you_mean, read_option

_DESCRIPTION = """\
Checks Python functions marked @dpor.model: explores every schedule of their threads that matters, and
either proves that none breaks an assertion or deadlocks, or shows one that does.
"""
_EPILOG = """\
examples:
  dpor-lsp --check                            every model below the current folder
  dpor-lsp --check bank.py                    the models of one file
  dpor-lsp --check bank.py::transfers --set clerks=3
                                              one model, larger than its default
  dpor-lsp --check --watch                    check again whenever a file changes
  dpor-lsp --check --format sarif --output dpor.sarif
                                              a report for a code scanning service
  dpor-lsp --replay bank.py::transfers        the last counterexample again, step by step
  dpor-lsp --replay bank.py::transfers --html transfers.html
                                              the same as a page for the browser
  dpor-lsp --list                             the models, without running them

exit codes:
  0  every verdict is as expected
  1  a violation: some schedule fails
  2  a usage error, or a model that cannot be checked
  3  incomplete: a bound, a timeout or Ctrl-C ended a check

Defaults for a project go into pyproject.toml under [tool.dpor], with the names of the options below.
"""


_NOT_GIVEN = object()
"""Stands for an engine option that was not given, as None is a value that some of them accept."""


class Mode(enum.Enum):
    """What the command is asked to do."""

    SERVE = "serve"
    CHECK = "check"
    REPLAY = "replay"
    LIST = "list"
    DEBUG_ADAPTER = "debug-adapter"
    VERSION = "version"


@dataclass(frozen=True)
class Arguments:
    """The command line as read: `engine` holds the engine options that were given, None is an option that was not."""

    mode: Mode
    paths: tuple[str, ...] = ()
    format: str = "text"
    output: str | None = None
    engine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    assignments: tuple[str, ...] = ()
    all_violations: bool = False
    jobs: int | None = None
    memory_limit: int | None = None
    hang_timeout: float | None = None
    cache: bool | None = None
    resume: bool = False
    watch: bool = False
    ignore_empty: bool = False
    replay: str | None = None
    schedule: str | None = None
    tcp: str | None = None
    html: str | None = None


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are coded and suggest what was meant."""

    def error(self, message: str) -> NoReturn:
        known = [option for action in self._actions for option in action.option_strings]
        unknown = [
            word for word in message.split() if word.startswith("--") and word.partition("=")[0] not in known
        ]
        hint = did_you_mean(unknown[0].partition("=")[0], known) if unknown else ""
        raise DporError(Code.BAD_OPTION, message, f"{hint}dpor-lsp --help lists the options")


def parse(words: Sequence[str]) -> Arguments:
    """Read the command line; `--help` prints and raises SystemExit.

    Raises DporError (DPOR105) for an option that does not exist or does not accept its value.
    """
    parser = _parser()
    given = vars(parser.parse_intermixed_args(words))
    mode = _mode(given)
    paths = tuple(given["paths"])
    if mode is Mode.SERVE and paths:
        raise DporError(
            Code.BAD_OPTION,
            f"what should be done with {paths[0]!r}",
            f"did you mean dpor-lsp --check {' '.join(paths)}?",
        )
    if mode is Mode.REPLAY and paths:
        raise DporError(Code.BAD_OPTION, "--replay takes one PATH::MODEL", f"leave {' '.join(paths)} out")
    if given["stdio"] and given["tcp"] is not None:
        raise DporError(Code.BAD_OPTION, "--stdio and --tcp exclude each other", "give one of them")
    if given["schedule"] is not None and mode is not Mode.REPLAY:
        raise DporError(
            Code.BAD_OPTION, "--schedule needs --replay PATH::MODEL", "name the model to replay it on"
        )
    if given["html"] is not None and (
        mode is not Mode.REPLAY or given["format"] != "text" or given["output"] is not None
    ):
        raise DporError(
            Code.BAD_OPTION, "--html goes with --replay PATH::MODEL alone", "leave --format and --output out"
        )
    if mode is Mode.DEBUG_ADAPTER and paths:
        raise DporError(
            Code.BAD_OPTION,
            "--debug-adapter takes no paths",
            "the editor's launch request names what to replay",
        )
    if given["watch"] and (mode is not Mode.CHECK or given["format"] != "text" or given["output"]):
        raise DporError(
            Code.BAD_OPTION, "--watch goes with --check and text on the terminal", "leave the rest out"
        )
    if given["resume"] and (mode is not Mode.CHECK or given["watch"]):
        raise DporError(Code.BAD_OPTION, "--resume goes with --check, and not with --watch", "leave it out")
    if mode in (Mode.REPLAY, Mode.LIST) and given["format"] not in ("text", "json"):
        message = f"--{mode.value} does not accept --format {given['format']}"
        raise DporError(Code.BAD_OPTION, message, "it accepts text and json")
    return Arguments(
        mode=mode,
        paths=paths,
        format=given["format"],
        output=given["output"],
        engine={name: given[name] for name in ENGINE_OPTIONS if given[name] is not _NOT_GIVEN},
        assignments=tuple(given["assignments"]),
        all_violations=given["all_violations"],
        jobs=given["jobs"],
        memory_limit=given["memory_limit"],
        hang_timeout=given["hang_timeout"],
        cache=False if given["no_cache"] else None,
        resume=given["resume"],
        watch=given["watch"],
        ignore_empty=given["ignore_empty"],
        replay=given["replay"],
        schedule=given["schedule"],
        tcp=given["tcp"],
        html=given["html"],
    )


def _mode(given: Mapping[str, Any]) -> Mode:
    modes = [
        mode
        for mode, chosen in (
            (Mode.VERSION, given["version"]),
            (Mode.CHECK, given["check"]),
            (Mode.LIST, given["list"]),
            (Mode.REPLAY, given["replay"] is not None),
            (Mode.DEBUG_ADAPTER, given["debug_adapter"]),
            (Mode.SERVE, given["stdio"] or given["tcp"] is not None),
        )
        if chosen
    ]
    if Mode.VERSION in modes:
        return Mode.VERSION
    if len(modes) > 1:
        names = " and ".join(f"--{mode.value}" for mode in modes)
        raise DporError(Code.BAD_OPTION, f"{names} exclude each other", "give one of them")
    return modes[0] if modes else Mode.SERVE


def _reader(name: str) -> Callable[[str], Any]:
    flag = "--" + name.replace("_", "-")
    return lambda text: read_option(name, text, shown_as=flag)


def _parser() -> _Parser:
    parser = _Parser(
        prog="dpor-lsp",
        usage="dpor-lsp --check [PATH[::MODEL] ...] [options]\n"
        "       dpor-lsp --replay PATH::MODEL [--schedule TEXT] [--html FILE]\n"
        "       dpor-lsp --list [PATH ...]\n"
        "       dpor-lsp                        (language server on standard input and output)",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH[::MODEL]", help=argparse.SUPPRESS)
    _add_modes(parser.add_argument_group("what to do"))
    _add_checking(parser.add_argument_group("how to explore"))
    _add_running(parser.add_argument_group("how to run and report"))
    return parser


def _add_modes(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    flag: dict[str, Any] = {"action": "store_true"}
    group.add_argument(
        "--check", **flag, help="check files, folders or single models (default: the current folder)"
    )
    group.add_argument("--replay", metavar="PATH::MODEL", help="follow a schedule and print it step by step")
    group.add_argument(
        "--schedule", metavar="TEXT", help="the schedule to replay (default: the last counterexample)"
    )
    group.add_argument("--html", metavar="FILE", help="write the replay as a page to look at in a browser")
    group.add_argument("--list", **flag, help="list the models without running them")
    group.add_argument("--stdio", **flag, help="language server on standard input and output")
    group.add_argument(
        "--tcp",
        metavar="HOST:PORT",
        help="language server on a TCP port of this machine; clients send the token that it shows",
    )
    group.add_argument(
        "--debug-adapter", **flag, help="debug adapter on standard input and output: step through a recording"
    )
    group.add_argument("--version", **flag, help="print the version")
    group.add_argument("-h", "--help", action="help", help="print this")


def _add_checking(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    def add(flag: str, metavar: str, text: str) -> None:
        reader = _reader(flag.strip("-").replace("-", "_"))
        group.add_argument(flag, metavar=metavar, type=reader, default=_NOT_GIVEN, help=text)

    for name in ("algorithm", "memory_model"):
        flag = "--" + name.replace("_", "-")
        add(flag, "NAME", f"{', '.join(OPTIONS[name].choice_names)} (default: {_default(name)})")
    add(
        "--partition",
        "NAME",
        "what tells the execution graphs of algorithms graph and concolic apart: coherence (the default: what is read "
        "from what, and the order of writes) or rf (the former alone)",
    )
    add(
        "--root",
        "THREAD",
        "the root thread of algorithm value-centric, such as main.0 (default: the first that main starts)",
    )
    add(
        "--k",
        "N",
        "how many disabled events an alternative of unfolding has to avoid; or optimal (the default)",
    )
    group.add_argument(
        "--set",
        dest="assignments",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of a model parameter, a Python literal; may be given again for others",
    )
    group.add_argument(
        "--all-violations",
        action="store_true",
        help="explore to the end instead of stopping at the first violation",
    )
    add("--timeout", "S", "seconds after which a model's check ends as incomplete (default: none)")
    add("--max-executions", "N", "executions after which it ends as incomplete")
    add("--max-steps", "N", f"steps after which an execution is cut off (default: {_default('max_steps')})")
    add("--preemption-bound", "N", "leave out schedules with more preemptions")
    add("--seed", "N", f"what randomness starts from (default: {_default('seed')})")
    add(
        "--races",
        "WHAT",
        f"data races: {', '.join(OPTIONS['races'].choice_names)} (default: {_default('races')})",
    )
    add(
        "--solver-timeout",
        "S",
        f"seconds for one question about symbolic values (default: {_default('solver_timeout')})",
    )
    group.add_argument(
        "--strict",
        action="store_const",
        const=True,
        default=_NOT_GIVEN,
        help="a verdict that rests on assumptions is an error",
    )
    group.add_argument(
        "--no-strict",
        dest="strict",
        action="store_const",
        const=False,
        default=_NOT_GIVEN,
        help="it is none, whatever models and project say (default)",
    )
    add("--spurious-wakeups", "BOOL", "whether Condition.wait may return without a reason (default: false)")
    add(
        "--clock-jumps",
        "N",
        "how often each thread may find that a year has passed between two looks at a clock (default: 0)",
    )
    add(
        "--cancellations",
        "N",
        "how often a task of asyncio that awaits something may be cancelled (default: 0)",
    )
    add(
        "--task-order",
        "ORDER",
        f"tasks of asyncio that are ready go in the order of the loop, or in any (default: {_default('task_order')})",
    )
    add(
        "--primitives",
        "HOW",
        "each operation of a queue, pool or future is one step (kernel), or the library's own code runs (library) "
        f"(default: {_default('primitives')})",
    )


def _default(name: str) -> str:
    value = OPTIONS[name].default
    return str(value.value if isinstance(value, enum.Enum) else value)


def _add_running(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    def add(flag: str, metavar: str, text: str, default: str | None = None) -> None:
        reader = _reader(flag.strip("-").replace("-", "_"))
        group.add_argument(flag, metavar=metavar, type=reader, default=default, help=text)

    add("--format", "NAME", f"{', '.join(FORMATS)} (default: text)", "text")
    group.add_argument(
        "--output", metavar="FILE", help="write the report there instead of to standard output"
    )
    add("--jobs", "N", "workers at once, for models and for parts of one (default: one a processor)")
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on with checks that a bound or Ctrl-C stopped (algorithm parsimonious)",
    )
    group.add_argument("--no-cache", action="store_true", help="check anew, and keep no results")
    group.add_argument(
        "--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C"
    )
    add("--memory-limit", "SIZE", "memory that a model may use, such as 512M; 0 for any (default: 2G)")
    add("--hang-timeout", "S", "seconds without progress after which a model counts as hanging (default: 20)")
    group.add_argument(
        "--ignore-empty", action="store_true", help="a path without models is no error (for pre-commit)"
    )
