"""Runs the threads of a program one at a time and switches between them only between two bytecode instructions.

Every thread is one of the operating system. It stops before an instruction that another thread could notice
(`instructions.py`), in the program as in library code written in Python, if the policy says that another thread is
next. What one C function does is one step, as under the GIL; Python code that it calls back stops as any other.
"""

from __future__ import annotations

import _thread
import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Protocol

from oracle.tracing import tracing

HERE = str(Path(__file__).resolve().parent)
DEADLOCK = "deadlock"
ENDLESS = "endless"


class Abandoned(BaseException):
    """Raised in the threads of an execution that cannot go on, to end them."""


class Policy(Protocol):
    """Decides who is next. `stop` is the number of the decision at which `preempt` is to be asked."""

    stop: int

    def preempt(self, number: int, current: int, others: tuple[int, ...]) -> int | None:
        """The thread that runs instead of the current one, which could go on; None if it does go on."""
        ...

    def choose(self, number: int, enabled: tuple[int, ...]) -> int:
        """The thread that runs now that the current one cannot, or waits with a time-out."""
        ...


@dataclass(frozen=True)
class Execution:
    """One execution: its outcome, and who could have been chosen at each decision; `free` tells those decisions at
    which a switch is no preemption. `stuck` says that threads wait for ever although the main thread has ended.
    """

    outcome: str
    decisions: list[tuple[int, ...]]
    free: frozenset[int]
    stuck: bool = False


class Actor:
    """A thread of the program. `ready` says whether what it waits for is there; None if it waits for nothing."""

    def __init__(self, number: int, carrier: Carrier) -> None:
        self.number = number
        self.carrier = carrier
        self.ready: Callable[[], bool] | None = None
        self.timed = False
        self.done = False
        self.unwinding = False


class _Work:
    """What a carrier is to run: a thread of a program."""

    def __init__(
        self,
        scheduler: Scheduler,
        actor: Actor,
        body: Callable[[], None],
        name_thread: Callable[[bool], None],
    ) -> None:
        self.scheduler = scheduler
        self.actor = actor
        self.body = body
        self.name_thread = name_thread

    def forget(self) -> None:
        self.body = self.name_thread = _nothing


def _nothing(begins: bool = False) -> None:
    """Do nothing."""


class Carrier:
    """A thread of the operating system that carries one actor after the other."""

    def __init__(self) -> None:
        self.gate = _thread.allocate_lock()
        self.gate.acquire()
        self.work: _Work | None = None

    def start(self) -> None:
        _thread.start_new_thread(self._loop, ())

    def _loop(self) -> None:
        while True:
            self.gate.acquire()
            work, self.work = self.work, None
            assert work is not None
            work.scheduler.carry(work)
            if work.actor.unwinding:
                # Whatever it has left in the interpreter's state of this thread ends with it.
                return
            del work


class Scheduler:
    """Runs one program again and again. `invisible` names the instructions before which nobody has to stop;
    `carriers` are threads that have nothing to do, which later schedulers can use again.
    """

    def __init__(
        self, invisible: frozenset[str], carriers: list[Carrier], max_decisions: int = 20_000
    ) -> None:
        self._max_decisions = max_decisions
        self._carriers = carriers
        self._main_carrier = Carrier()
        self.untraced: set[CodeType] = set()
        self.only: frozenset[str] | None = None
        self._tracing = tracing(invisible, self._wanted, self._step)
        self.active = False
        self._begin(None)

    def _begin(self, policy: Policy | None) -> None:
        self.policy = policy
        self.actors: list[Actor] = []
        self.now = 1000.0
        self.quiet = 0
        self.aborting = False
        self.ended: str | None = None
        self.raised: list[str] = []
        self._decisions: list[tuple[int, ...]] = []
        self._free: set[int] = set()
        self._others: tuple[int, ...] | None = ()

    def run(self, program: Callable[[], str], policy: Policy) -> Execution:
        """Run the program once, with this thread as its main thread."""
        self._begin(policy)
        main = Actor(0, self._main_carrier)
        self.actors.append(main)
        self.current = main
        self.active = True
        outcome = ""
        self._tracing.open()
        try:
            outcome = program()
        except Abandoned:
            pass
        except Exception as error:
            outcome = f"main raised {type(error).__name__}"
        self._tracing.end()
        main.done = True
        returned = self.ended is None
        if not all(actor.done for actor in self.actors):
            # The others run to their end; the last of them comes back here.
            self._leave()
            self._main_carrier.gate.acquire()
        self._tracing.close()
        self.active = False
        if self.raised:
            outcome = f"{outcome}; threads raised {self.raised}"
        stuck = returned and self.ended == DEADLOCK
        if not stuck and self.ended:
            outcome = self.ended
        execution = Execution(outcome, self._decisions, frozenset(self._free), stuck)
        self._begin(None)
        return execution

    def forget(self) -> None:
        """Leave the interpreter as it was."""
        self._tracing.forget()

    def spawn(self, body: Callable[[], None], name_thread: Callable[[bool], None]) -> Actor:
        """Let a new thread run `body` when it is chosen; `name_thread` is called in it first and last."""
        # What is let go of here may run code of the library, which is not to be switched inside of this.
        self.quiet += 1
        if self._carriers:
            carrier = self._carriers.pop()
        else:
            carrier = Carrier()
            carrier.start()
        actor = Actor(len(self.actors), carrier)
        carrier.work = _Work(self, actor, body, name_thread)
        self.actors.append(actor)
        self._others = None
        self.quiet -= 1
        self._tracing.begin()
        return actor

    def carry(self, work: _Work) -> None:
        """Run a thread of the program in the carrier that it was given."""
        try:
            if not self.aborting:
                work.name_thread(True)
                self._tracing.begin()
                contextvars.Context().run(work.body)
        except Abandoned:
            pass
        except BaseException as error:
            if not self.aborting:
                self.raised.append(type(error).__name__)
        self._tracing.end()
        self.quiet += 1
        work.actor.unwinding = self.aborting
        work.name_thread(False)
        work.actor.done = True
        # What the thread alone kept ends before another one goes on.
        work.forget()
        self._leave()

    # -- waiting ------------------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Something that a thread may wait for has changed."""
        self._others = None

    def wait(self, ready: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until `ready` or, at any moment, until the time is over. Returns False if the time was over."""
        if self.aborting:
            raise Abandoned
        actor = self.current
        end = self.now + (timeout or 0)
        while True:
            actor.ready, actor.timed = ready, timeout is not None
            chosen = self._choose()
            if chosen is None:
                self._abort(DEADLOCK)
                raise Abandoned
            if chosen is not actor:
                self._hand_over(actor, chosen)
            actor.ready = None
            self._others = None
            if ready():
                return True
            if timeout is not None:
                self.now = max(self.now, end)
                return False

    def _enabled(self, actor: Actor) -> bool:
        return not actor.done and (actor.ready is None or actor.timed or actor.ready())

    def _choose(self) -> Actor | None:
        # The policy may call library code, which is not to be switched inside of this.
        self.quiet += 1
        try:
            return self._chosen()
        finally:
            self.quiet -= 1

    def _chosen(self) -> Actor | None:
        enabled = [actor for actor in self.actors if self._enabled(actor)]
        if not enabled:
            return None
        if len(enabled) == 1:
            return enabled[0]
        # A time-out that expires comes last.
        enabled.sort(key=lambda actor: actor.ready is not None and not actor.ready())
        numbers = tuple(actor.number for actor in enabled)
        number = len(self._decisions)
        self._decisions.append(numbers)
        self._free.add(number)
        assert self.policy is not None
        return self.actors[self.policy.choose(number, numbers)]

    def _hand_over(self, actor: Actor, chosen: Actor) -> None:
        self.current = chosen
        self._others = None
        chosen.carrier.gate.release()
        actor.carrier.gate.acquire()
        if self.aborting:
            raise Abandoned

    def _leave(self) -> None:
        """The current thread has ended: another one is next."""
        actor = self.current
        if not self.aborting:
            chosen = self._choose()
            if chosen is None and not all(other.done for other in self.actors):
                self._abort(DEADLOCK)
        if self.aborting:
            unfinished = [other for other in self.actors[1:] if not other.done]
            chosen = unfinished[0] if unfinished else self.actors[0]
        elif chosen is None:
            chosen = self.actors[0]
        self.current = chosen
        self._others = None
        self.quiet = 0
        if actor.number and not actor.unwinding:
            self._carriers.append(actor.carrier)
        if chosen is not actor:
            chosen.carrier.gate.release()

    def _abort(self, why: str) -> None:
        self.ended = self.ended or why
        self.aborting = True

    # -- tracing ------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        """The current thread is about to do something that others could notice."""
        if self.quiet:
            return
        if self.aborting:
            self._unwind()
            return
        others = self._others
        fresh = others is None
        if others is None:
            current = self.current
            others = tuple(
                actor.number for actor in self.actors if actor is not current and self._enabled(actor)
            )
            self._others = others
        if not others:
            return
        number = len(self._decisions)
        self._decisions.append(others)
        policy = self.policy
        assert policy is not None
        if fresh or number >= policy.stop:
            target = policy.preempt(number, self.current.number, others)
            if target is not None:
                self._hand_over(self.current, self.actors[target])
        elif number > self._max_decisions:
            self._abort(ENDLESS)
            self._unwind()

    def _unwind(self) -> None:
        """End the current thread; what it does on the way out is left alone, unless it waits."""
        if not self.current.unwinding:
            self.current.unwinding = True
            raise Abandoned

    def _wanted(self, code: CodeType) -> bool:
        file = code.co_filename
        if self.only is not None and file not in self.only:
            return False
        return (
            not file.startswith((HERE, "<frozen importlib", "<frozen zipimport"))
            and code not in self.untraced
        )
