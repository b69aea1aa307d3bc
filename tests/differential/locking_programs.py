"""Random programs with locks of `fcntl.flock`, as text for a check and as they run on the system's own locks.

`Program.run` has no part of the checker in it: it tries every order of steps, each from the start, with real files and
the real `flock`, which never waits. A step that would wait is not possible yet.
"""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checked_programs import functions_of, names_of
from interleavings import Outcomes

NAMES = ("a", "b")
# What threads have between them: files by name, and copies of descriptors by number.
OPENED: tuple[str | int, ...] = ("a", "a", "b", 0)
KINDS = ("LOCK_SH", "LOCK_EX")


@dataclass(frozen=True)
class Step:
    """A statement: `call` is lock, try, unlock, close or append; `number` is a descriptor, `kind` the way to lock."""

    call: str
    number: int = 0
    kind: str = "LOCK_EX"

    def source(self) -> str:
        """The statement in a function that has `found`, a list of results."""
        descriptor = f"descriptors[{self.number}]"
        return {
            "lock": f"found.append(attempt(fcntl.flock, {descriptor}, fcntl.{self.kind}))",
            "try": f"found.append(attempt(fcntl.flock, {descriptor}, fcntl.{self.kind} | fcntl.LOCK_NB))",
            "unlock": f"found.append(attempt(fcntl.flock, {descriptor}, fcntl.LOCK_UN))",
            "close": f"found.append(attempt(os.close, {descriptor}))",
            "append": "order.append(index)",
        }[self.call]


@dataclass(frozen=True)
class Program:
    """The steps of each thread; descriptors from `len(OPENED)` on are the threads' own, of the file `a`."""

    threads: tuple[tuple[Step, ...], ...]

    def source(self) -> str:
        """The text of a model."""
        opened = [
            f"os.dup(descriptors[{what}])" if isinstance(what, int) else f"os.open({what!r}, os.O_RDWR)"
            for what in (*OPENED, *("a" for _ in self.threads))
        ]
        making = "".join(f"    descriptors.append({text})\n" for text in opened)
        bodies, names = functions_of(self.threads), names_of(self.threads)
        return _MODEL.format(count=len(self.threads), making=making, bodies=bodies, names=names)

    def run(self, folder: Path) -> Outcomes:
        """Run all orders of steps on the system's locks."""
        ended: set[object] = set()
        deadlock = False
        pending: list[tuple[int, ...]] = [()]
        while pending:
            order = pending.pop()
            possible = [index for index in range(len(self.threads)) if self._reaches((*order, index), folder)]
            pending += [(*order, index) for index in possible]
            if not possible:
                last = _Execution(self, folder, order)
                ended |= {last.outcome()} if last.is_over() else set()
                deadlock |= not last.is_over()
        return Outcomes(frozenset(ended), deadlock)

    def _reaches(self, order: tuple[int, ...], folder: Path) -> bool:
        return _Execution(self, folder, order).reached


class _Execution:
    """One order of steps, with the files as they are afterwards; `reached` says whether all of them were possible."""

    def __init__(self, program: Program, folder: Path, order: tuple[int, ...]) -> None:
        self.program = program
        self.next = [0] * len(program.threads)
        self.results: list[list[object]] = [[] for _ in program.threads]
        self.appended: list[int] = []
        # Which open file a descriptor is of, and how that is locked.
        self.files: list[int] = []
        self.held: dict[int, str] = {}
        self.descriptors: list[int] = []
        try:
            for what in (*OPENED, *("a" for _ in program.threads)):
                self.files.append(self.files[what] if isinstance(what, int) else len(self.files))
                copied = isinstance(what, int)
                self.descriptors.append(
                    os.dup(self.descriptors[what]) if copied else os.open(folder / what, os.O_RDWR)
                )
            self.reached = all(self._step(index) for index in order)
        finally:
            for descriptor in self.descriptors:
                if descriptor >= 0:
                    os.close(descriptor)

    def is_over(self) -> bool:
        return all(at == len(steps) for at, steps in zip(self.next, self.program.threads, strict=True))

    def outcome(self) -> object:
        return tuple(map(tuple, self.results)), tuple(self.appended)

    def _step(self, index: int) -> bool:
        steps = self.program.threads[index]
        if self.next[index] == len(steps):
            return False
        step = steps[self.next[index]]
        found: object = None
        if step.call == "append":
            self.appended.append(index)
        else:
            file, descriptor = self.files[step.number], self.descriptors[step.number]
            if step.call in ("lock", "try") and self.held.get(file) not in (None, step.kind):
                # To change a lock gives it up first. Linux does both at once, which flock(2) does not promise.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                del self.held[file]
                return True
            try:
                self._call(step, file, descriptor)
            except BlockingIOError as error:
                if step.call == "lock":
                    return False
                found = error.errno
            except OSError as error:
                found = error.errno
            self.results[index].append(found)
        self.next[index] += 1
        return True

    def _call(self, step: Step, file: int, descriptor: int) -> None:
        if step.call == "close":
            os.close(descriptor)
            self.descriptors[step.number] = -1
            if file not in {
                other for other, number in zip(self.files, self.descriptors, strict=True) if number >= 0
            }:
                self.held.pop(file, None)
        elif step.call == "unlock":
            fcntl.flock(_NEVER_OPEN if descriptor < 0 else descriptor, fcntl.LOCK_UN)
            self.held.pop(file, None)
        else:
            number = _NEVER_OPEN if descriptor < 0 else descriptor
            fcntl.flock(number, getattr(fcntl, step.kind) | fcntl.LOCK_NB)
            self.held[file] = step.kind


_NEVER_OPEN = 2**31 - 1
# There are not too many orders of so many steps.
_MOST_STEPS = 9
_MODEL = """
import fcntl, os, tempfile, threading
import differential_sink
import dpor

def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.errno

@dpor.model
def program():
    os.chdir(tempfile.mkdtemp())
    for name in ("a", "b"):
        os.close(os.open(name, os.O_CREAT | os.O_RDWR))
    descriptors, order, results = [], [], [[] for _ in range({count})]
{making}{bodies}    threads = [threading.Thread(target=function) for function in ({names},)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    differential_sink.record((tuple(map(tuple, results)), tuple(order)))
"""


def programs(seed: int) -> Iterator[Program]:
    """Programs without end, the same for the same seed."""
    draw = random.Random(seed)
    while True:
        count = draw.choice((2, 2, 3))
        program = Program(tuple(_thread(draw, len(OPENED) + index, 5 - count) for index in range(count)))
        if sum(map(len, program.threads)) <= _MOST_STEPS:
            yield program


def _thread(draw: random.Random, own: int, length: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    for _ in range(draw.randint(1, length)):
        call = draw.choice(("lock", "lock", "lock", "try", "try", "unlock", "append", "close"))
        number = own if call == "close" or draw.random() < 0.6 else draw.randrange(len(OPENED))
        steps.append(Step(call, number, draw.choice(KINDS)))
    if draw.random() < 0.7:
        used = sorted({step.number for step in steps if step.call in ("lock", "try")})
        steps += [Step("append")] + [Step("unlock", number) for number in used if number != own]
        steps += [Step("close", own)]
    return tuple(steps)
