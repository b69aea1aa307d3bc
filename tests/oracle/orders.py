"""Finds pairs of operations on an object for which it makes a difference which of them is first.

It runs each in plain Python, in this process, which never imports what is judged.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from oracle.sink import foreseeable
from oracle.tables.instances import ARGUMENTS, VALUES

# They make or describe classes, list what is there, or give nothing that two processes have in common.
_UNUSED = frozenset(
    {
        "__new__",
        "__init_subclass__",
        "__subclasshook__",
        "__class__",
        "__class_getitem__",
        "__del__",
        "__getattribute__",
        "__getattr__",
        "__hash__",
        "__sizeof__",
        "__weakref__",
        "__setattr__",
        "__delattr__",
        "__doc__",
        "__module__",
        "__dir__",
        "__reduce__",
        "__reduce_ex__",
        "__slotnames__",
        "__globals__",
        "__builtins__",
        "process",
        "processName",
        "thread",
    }
)
# A method that does not take such arguments raises one of these.
_NOT_TAKEN = frozenset({"!TypeError", "!AttributeError", "!ValueError", "!NotImplementedError"})
_CALLS = 3
_TRIED = 400
_SECONDS = 0.2
# Of how many calls it cannot be told what they give before a method is given up.
_PATIENCE = 3


class _TooLongError(BaseException):
    """It waits, or has no end."""


def orders(context: str, made: str, most: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of expressions on `s`, the object that the expression `made` makes, that give something else in either
    order; `most` of them, drawn by the seed. `context` is the text of the imports and classes that `made` names.

    What waits, ends the process, or leaves a file is left out, and what gives something else each time.
    """
    names: dict[str, Any] = {}
    exec(compile(context, "<context>", "exec", dont_inherit=True), names)
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run = _Runner(names, made, Path(folder))
        operations = list(_operations(run, draw))
        pairs = [(one, other) for number, one in enumerate(operations) for other in operations[number + 1 :]]
        draw.shuffle(pairs)
        found: dict[tuple[str, str], tuple[str, str]] = {}
        for one, other in pairs[:_TRIED]:
            # Of one pair of methods, one pair of calls.
            methods = _named(one), _named(other)
            if len(found) < most and methods not in found and run.differ(one, other):
                found[methods] = one, other
        return list(found.values())


def _named(operation: str) -> str:
    return operation.partition("," if operation.startswith("setattr") else "(")[0]


def _operations(run: _Runner, draw: random.Random) -> Iterator[str]:
    for name in dir(run.new()):
        if name in _UNUSED or (name.startswith("_") and not name.startswith("__")):
            continue
        if run.callable(name):
            taken = list(_calls(run, name))
            draw.shuffle(taken)
            yield from taken[:_CALLS]
        elif run.results([f"s.{name}"]):
            yield f"s.{name}"
            stores = [f"setattr(s, {name!r}, {value})" for value in VALUES]
            yield from [store for store in stores if run.results([store]) == ["None"]][:1]


def _calls(run: _Runner, name: str) -> Iterator[str]:
    """The calls of a method that it takes."""
    patience = _PATIENCE
    for arguments in ARGUMENTS:
        call = f"s.{name}({arguments})"
        results = run.results([call])
        if results and not _NOT_TAKEN.intersection(results):
            yield call
        patience -= not results
        if not patience:
            return


class _Runner:
    """Makes objects and evaluates expressions on them."""

    def __init__(self, names: dict[str, Any], made: str, folder: Path) -> None:
        self._names = names
        self._made = made
        self._folder = folder

    def new(self) -> Any:
        """A new object."""
        return eval(self._made, self._names)

    def callable(self, name: str) -> bool:
        """Whether an attribute is there and is called."""
        found: list[bool] = []
        self._within_time(lambda: found.append(_is_called(getattr(self.new(), name))))
        return found == [True]

    def results(self, expressions: list[str]) -> list[str]:
        """What each gives as text, one after the other on one object; nothing if it cannot be told."""
        results: list[str] = []

        def run() -> None:
            self._names["s"] = self.new()
            for expression in expressions:
                try:
                    results.append(foreseeable(repr(eval(expression, self._names))))
                except Exception as error:
                    results.append(f"!{type(error).__name__}")

        ended = self._within_time(run)
        files = list(self._folder.iterdir())
        for file in files:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        return results if ended and not files else []

    def differ(self, one: str, other: str) -> bool:
        """Whether the two give something else in either order, and the same each time."""
        first, second = self.results([one, other]), self.results([other, one])[::-1]
        repeats = first == self.results([one, other]) and second == self.results([other, one])[::-1]
        return repeats and bool(first) and bool(second) and first != second

    def _within_time(self, action: Callable[[], None]) -> bool:
        def stop(number: int, frame: object) -> None:
            raise _TooLongError

        before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = io.StringIO()
        # Windows has no such signal: there a whole object is given up.
        timed = hasattr(signal, "setitimer")
        try:
            if timed:
                signal.signal(signal.SIGALRM, stop)
                signal.setitimer(signal.ITIMER_REAL, _SECONDS)
            action()
        except BaseException:
            return False
        else:
            return True
        finally:
            if timed:
                signal.setitimer(signal.ITIMER_REAL, 0)
            sys.stdout, sys.stderr = before


def _is_called(value: object) -> bool:
    return callable(value) and not isinstance(value, type)
