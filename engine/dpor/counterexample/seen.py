"""What a recorder keeps of an execution while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpor.counterexample.locks import HeldLocks
from dpor.counterexample.operations import Operation
from dpor.counterexample.records import Site, WaitingTask
from dpor.counterexample.schedule import Choice


@dataclass
class SeenStep:
    """A step as it was seen; names are resolved at the end, when more is known about who holds what.

    `late` is an object read or written whose name is to be resolved then, `text` the value if it is not. `source`
    is the number of the step whose write was read, 0 for the initial value; None where memory holds what is read.
    """

    thread: str
    operation: Operation
    target: object
    key: object
    text: str | None
    late: object
    choice: Choice
    part: str | None
    method: str | None
    sites: tuple[Site, ...]
    held: tuple[object, ...]
    event: bool
    source: int | None = None


@dataclass
class PendingWait:
    """What a thread waits for since the step with the number `since`; `tasks` if it is the loop of tasks that do."""

    operation: Operation
    target: object
    since: int
    tasks: tuple[WaitingTask, ...] | None = None


@dataclass
class SeenThread:
    """What is known of one thread: the locks it holds, its last place, the wait it is in, threads it
    spawned.
    """

    locks: HeldLocks = field(default_factory=HeldLocks)
    sites: tuple[Site, ...] = ()
    pending: PendingWait | None = None
    children: int = 0
