"""Failures of executions: what they are, when two of them are the same bug, what a report says of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpor._kernel import Failed
from dpor.checking.exploration import Choices
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.values import class_name
from dpor.exception_texts import text_of, titled
from dpor.results import ViolationKind

Pinned = Mapping[tuple[str, int], int | bool]


class Found:
    """A failure as the kernel reported it, with the choices that lead to it.

    It is made before what the execution changed is put back: the text of an exception can tell of that.
    """

    def __init__(self, failed: Failed, choices: Choices, values: Pinned | None = None) -> None:
        self.exception = failed.exception
        self.thread = failed.thread
        self.kind = _kind(failed.kind, self.exception)
        self.choices = choices
        # What stands for the symbolic values of the execution.
        self.values: Pinned = values or {}
        self.waiting = failed.waiting
        self.other = failed.other
        self.raced = failed.location
        self.text = None if self.exception is None else text_of(self.exception)

    @property
    def place(self) -> tuple[object, ...]:
        """What makes two failures the same bug: the kind, and where."""
        if self.raced is not None:
            return (self.kind, self.raced)
        if self.exception is None:
            return (self.kind, *((thread, operation) for thread, operation, _ in self.waiting))
        return (self.kind, class_name(self.exception), _innermost(self.exception))

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two failures worth two reports: also the message."""
        return (*self.place, self.text)


def _innermost(error: BaseException) -> tuple[str, int]:
    trace = error.__traceback__
    place = ("", 0)
    while trace is not None:
        place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place


def _kind(word: str, exception: BaseException | None) -> ViolationKind:
    if word == "exception":
        return ViolationKind.ASSERTION if isinstance(exception, AssertionError) else ViolationKind.EXCEPTION
    return ViolationKind(word)


def message_of(found: Found, recorder: Recorder) -> str:
    """What a report says of a failure; an empty text leaves it to the source of the failed assertion."""
    error = found.exception
    if found.raced is not None:
        steps = recorder.schedule_steps()
        target = (steps[-1].target if steps else None) or "a variable"
        return f"data race on {target}: nothing orders the accesses of {found.other} and {found.thread}"
    if error is None:
        if found.kind is ViolationKind.LIVELOCK:
            return (
                f"livelock: {found.thread} goes round in a loop for ever, and nothing that it reads changes"
            )
        return f"deadlock: {_who_waits(len(found.waiting), recorder.tasks_of_waiting_loops())} for ever"
    if found.kind is ViolationKind.ASSERTION:
        return f"assertion failed: {found.text}" if found.text else ""
    return titled(error, found.text)


def _who_waits(threads: int, tasks: Sequence[int]) -> str:
    """`1 thread waits`, `2 threads and 3 tasks wait`: a thread whose event loop has tasks counts as these."""
    threads -= sum(1 for number in tasks if number)
    numbers = [(threads, "thread"), (sum(tasks), "task")]
    amounts = [f"{number} {noun}{'s' if number != 1 else ''}" for number, noun in numbers if number]
    return f"{' and '.join(amounts)} wait{'s' if sum(number for number, _ in numbers) == 1 else ''}"
