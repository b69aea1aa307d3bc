"""What became of a test method, as plain CPython and the checked program both tell it.

Checked programs import it under the name `fidelity_outcome`; it is no part of them, and so not instrumented.
"""

from __future__ import annotations

import concurrent.futures
import re
import sys
import unittest
from collections.abc import Iterator
from typing import Any, NamedTuple

_LONGEST = 1500
_UNFORESEEN = (
    (re.compile(r"\b0x[0-9a-fA-F]{5,16}\b"), "0x..."),
    (re.compile(r"\bThread-\d+"), "Thread-N"),
    (re.compile(r"\bTask-\d+"), "Task-N"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "tmp"),
    (re.compile(r"\b\d+\.\d{6,}(e-\d+)?\b"), "0.0"),
)


class Happening(NamedTuple):
    """One thing that a test method told: what, of which type, and in which words."""

    kind: str
    type: str = ""
    message: str = ""


class Told(unittest.TestResult):
    """Keeps what happens to a test as `Happening`s."""

    def __init__(self) -> None:
        super().__init__()
        self.happenings: list[Happening] = []

    def addSuccess(self, test: object) -> None:
        self.happenings.append(Happening("pass"))

    def addFailure(self, test: object, err: Any) -> None:
        self._broken("failure", err)

    def addError(self, test: object, err: Any) -> None:
        self._broken("error", err)

    def addSkip(self, test: object, reason: str) -> None:
        self.happenings.append(Happening("skip", message=foreseeable(reason)))

    def addExpectedFailure(self, test: object, err: Any) -> None:
        self.happenings.append(Happening("expected failure"))

    def addUnexpectedSuccess(self, test: object) -> None:
        self.happenings.append(Happening("unexpected success"))

    def addSubTest(self, test: object, subtest: object, err: Any) -> None:
        if err is not None:
            self._broken("failure of a part", err)

    def addDuration(self, test: object, elapsed: float) -> None:
        """How long it took says nothing."""

    def _broken(self, kind: str, err: Any) -> None:
        self.happenings.append(broken(kind, err[1]))


def broken(kind: str, error: BaseException) -> Happening:
    """What an exception tells."""
    try:
        text = str(error)
    except Exception as second:
        text = f"<str raises {type(second).__name__}>"
    return Happening(kind, f"{type(error).__module__}.{type(error).__qualname__}", foreseeable(text))


def foreseeable(text: str) -> str:
    """The text without what no two runs have in common: addresses, counts of the process, times, temporary names."""
    for pattern, put in _UNFORESEEN:
        text = pattern.sub(put, text)
    return text[:_LONGEST]


def run(case: type[unittest.TestCase], method: str) -> Told:
    """Run a test method between what its module and its class set up and take down.

    `TestSuite` would do it too, but leaves marks in the class, for which a check loads the module for each execution.
    """
    told = Told()
    # As `TestSuite` does: the module of a class that `load_tests` has made may be gone.
    module: Any = sys.modules.get(case.__module__)
    try:
        getattr(module, "setUpModule", _nothing)()
        try:
            case.setUpClass()
            try:
                case(method).run(told)
            finally:
                case.tearDownClass()
        finally:
            if case._class_cleanups:
                case.doClassCleanups()
            getattr(module, "tearDownModule", _nothing)()
            unittest.case.doModuleCleanups()
    except unittest.SkipTest as skip:
        told.happenings.append(Happening("skip", message=foreseeable(str(skip))))
    except Exception as error:
        told.happenings.append(broken("error around it", error))
    return told


def _nothing() -> None:
    """What a module without fixtures does."""


_records: list[list[Happening]] = []


def record(told: Told) -> None:
    """Keep what an execution told."""
    _records.append(told.happenings)


def take() -> list[list[Happening]]:
    """Return what was told since the last call, an item for each execution, and forget it."""
    taken = list(_records)
    _records.clear()
    return taken


def methods(module: Any) -> dict[str, tuple[type[unittest.TestCase], str]]:
    """The test methods of a module, by name: the class and the method.

    `load_tests` is asked, since some modules make their classes there. Tests of pools whose work is done by other
    processes or interpreters are left out.
    """
    found: dict[str, tuple[type[unittest.TestCase], str]] = {}
    prefix = f"{module.__name__}."
    # By no code of the cases: each call of it would be an operation on all that the module reaches.
    for case in _cases(unittest.TestLoader().loadTestsFromModule(module)):
        method: str = case._testMethodName
        kind: type[unittest.TestCase] = type(case)
        name = f"{kind.__module__}.{kind.__qualname__}.{method}".removeprefix(prefix)
        # A module that cannot be imported has a case without a method of its own.
        if hasattr(kind, method) and not _is_of_processes(kind):
            found.setdefault(name, (kind, method))
    return found


def _is_of_processes(case: type) -> bool:
    """Whether the tests of a class are about a pool that is not one of threads."""
    executor: object = getattr(case, "executor_type", None)
    return executor is not None and executor is not concurrent.futures.ThreadPoolExecutor


def find(module: Any, name: str) -> tuple[type[unittest.TestCase], str]:
    """The class and the method that `methods` has under this name. Most classes are variables of the module."""
    owner, _, method = name.rpartition(".")
    case = vars(module).get(owner)
    return (case, method) if isinstance(case, type) else methods(module)[name]


def _cases(suite: Any) -> Iterator[Any]:
    if isinstance(suite, unittest.TestSuite):
        for item in suite:
            yield from _cases(item)
    elif isinstance(suite, unittest.TestCase) and type(suite).__module__ not in (
        "doctest",
        "unittest.loader",
    ):
        yield suite


class Warming(unittest.TestCase):
    """A test of which each check runs the like: what it needs of the library is instrumented once for all methods."""

    def test(self) -> None:
        with self.subTest(part=1):
            self.assertEqual([1], [1])  # noqa: PT009
        with self.assertRaises(KeyError):  # noqa: PT027
            self.assertIn(1, {}[1])  # noqa: PT009


def loaded(name: str) -> Any:
    """The module of this name."""
    return sys.modules[name]
