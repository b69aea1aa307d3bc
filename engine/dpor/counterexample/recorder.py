"""Records an execution while the kernel replays it."""

from __future__ import annotations

import dataclasses
import itertools
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, cast

from dpor.counterexample.frames import Locator
from dpor.counterexample.locks import lock_of
from dpor.counterexample.names import Names, Rank, is_held, is_namespace
from dpor.counterexample.observation import Call, Observation, Stuck
from dpor.counterexample.operations import Operation, effect
from dpor.counterexample.records import Execution, Failure, Record, Wait, WaitingTask
from dpor.counterexample.schedule import Choice, ScheduleStep
from dpor.counterexample.seen import PendingWait, SeenStep, SeenThread
from dpor.counterexample.values import (
    class_module,
    class_name,
    describe,
    describe_key,
    has_method,
    instance_dict,
    is_content,
    is_symbolic,
    shorten,
    shown,
)
from dpor.results import ViolationKind
from dpor.runtime.decisions import Decision
from dpor.runtime.outside.world import System

_MAIN = "main"
_LONGEST_TARGET = 60
_KEYED = (dict, set, frozenset)
_CONTAINERS = (*_KEYED, list, tuple, bytearray)
_WITH_ITEM = frozenset(
    {
        Operation.LOAD,
        Operation.MISS,
        Operation.STORE,
        Operation.BUFFER,
        Operation.FLUSH,
        Operation.DELETE,
        Operation.CONTAINS,
    }
)
_STORES = frozenset({Operation.STORE, Operation.BUFFER})
_SYMBOLIC = frozenset({Operation.NONDET, Operation.BRANCH})
_WITH_NONE = frozenset(
    {
        Operation.LOAD,
        Operation.STORE,
        Operation.BUFFER,
        Operation.GET,
        Operation.PUT,
        Operation.ATOMIC_LOAD,
        Operation.ATOMIC_STORE,
        Operation.EXCHANGE,
    }
)
# Of a deep recursion: the frames further out were looked at when they were among these.
_MOST_FRAMES = 64
_OF_LOCKS = frozenset({Operation.ACQUIRE, Operation.TRY_ACQUIRE, Operation.RELEASE})
_DEFAULT_NAME = re.compile(r"(Thread-\d+|MainThread|Dummy-\d+|Timer-\d+|ThreadPoolExecutor-\d+)([ _].*)?")


class Recorder:
    """What the kernel drives while it records: `step`, `waiting` and `blocked`.

    Arguments: `is_first_party(filename)`, and the folder that spans are made relative to. Nothing here runs
    code of the user's classes. `execution` gives what the analyses need, `schedule_steps` what a schedule
    keeps; both are for the time after the last step. An `observation` is told of every step what a report leaves out.
    `waiting_tasks` gives the tasks of the event loop that waits at an object, None if none waits there.
    """

    def __init__(
        self,
        is_first_party: Callable[[str], bool],
        root: Path | str | None = None,
        observation: Observation | None = None,
        waiting_tasks: Callable[[object], tuple[WaitingTask, ...] | None] = lambda target: None,
    ) -> None:
        self._waiting_tasks = waiting_tasks
        self._locator = Locator(is_first_party, Path(root) if root is not None else None)
        self._names = Names()
        self._steps: list[SeenStep] = []
        self._threads: dict[str, SeenThread] = {}
        self._paths: dict[int, str] = {}
        self._blocked: list[tuple[str, Operation, object]] = []
        self._conditions: dict[int, object] = {}
        self._asleep: dict[int, list[str]] = {}
        self._notified: set[str] = set()
        self.observation = observation

    def step(
        self,
        thread: str,
        operation: str,
        target: object,
        key: object,
        value: object,
        event: bool,
        number: int = 0,
    ) -> None:
        """Record a visible operation after its effect, in the greenlet of the thread that performs it.

        `number` is that of a store among the stores of its thread that went through a store buffer, both when it
        enters and when it leaves, which can be in any greenlet. For a load that has a reads-from choice it is
        the number of that write's step, counted from 2; 1 for the initial value. 0 for everything else.
        """
        word = Operation.of(operation)
        if word is Operation.FLUSH:
            self._flush(thread, target, key, value, number)
            return
        frame = sys._getframe().f_back  # pyright: ignore[reportPrivateUsage]
        state = self._thread(thread)
        state.sites = sites = self._locator.sites(frame) or (
            () if word in (Operation.START, Operation.END) else state.sites
        )
        state.pending = None
        if word is Operation.SPAWN:
            self._paths[id(target)] = f"{thread}.{state.children}"
            state.children += 1
        elif word is Operation.START:
            self._paths.setdefault(id(target), thread)
        if (
            word is Operation.SPAWN
            or not self._steps
            or not (word.is_nameless or self._names.is_known(target))
        ):
            self._hold_frames(thread, frame)
        if not word.is_nameless:
            self._names.number(target)
        for seen in (target, value):
            if lock_of(seen) is not seen:
                self._conditions[id(lock_of(seen))] = seen
        self._hold(word, target, key, value)
        self._holder_of(state, word, target).locks.update(word, target, value)
        self._update_sleepers(thread, word, target, value)
        late = is_held(value) and not is_content(value)
        self._steps.append(
            SeenStep(
                thread=thread,
                operation=word,
                target=target,
                key=key,
                text=None if late else self._value(word, key, value),
                late=value if late else None,
                choice=_numbered(word, number) if number else _choice(word, value),
                source=number - 1 if number and word is not Operation.BUFFER else None,
                part=self._part(word, target, key),
                method=str(key) if word is Operation.CALL else None,
                sites=sites,
                held=state.locks.now(),
                event=event,
            )
        )
        if self.observation is not None:
            self._observe(self.observation, frame, target, key, value)

    def _observe(
        self, observation: Observation, frame: FrameType | None, target: object, key: object, value: object
    ) -> None:
        raw = self._steps[-1]
        flushed = raw.operation is Operation.FLUSH
        observation.step(
            raw.thread,
            raw.operation,
            target,
            key,
            value,
            effect(raw.operation, raw.method, raw.text),
            raw.sites if flushed else self._locator.sites(frame),
            () if flushed else self._locator.visible_frames(frame),
            {path: state.locks.now() for path, state in self._threads.items()},
            {
                path: Stuck(
                    path,
                    self._wait_word(path, state.pending.operation),
                    state.pending.target,
                    state.pending.since,
                )
                for path, state in self._threads.items()
                if state.pending is not None
            },
        )

    def _holder_of(self, state: SeenThread, word: Operation, target: object) -> SeenThread:
        """Whose locks an operation of a thread changes: another one may release a lock."""
        if word is not Operation.RELEASE or state.locks.holds(target):
            return state
        return next((other for other in self._threads.values() if other.locks.holds(target)), state)

    def _wait_word(self, thread: str, operation: Operation) -> Operation:
        """What a thread waits for: nobody gets a condition's lock back before having been notified."""
        return Operation.WAIT if operation is Operation.WAKE and thread not in self._notified else operation

    def _flush(self, thread: str, target: object, key: object, value: object, number: int) -> None:
        """Record that a store reaches memory; its place in the code is where it was made."""
        stores = (raw for raw in reversed(self._steps) if raw.operation is Operation.BUFFER)
        store = next((raw for raw in stores if (raw.thread, raw.choice) == (thread, number)), None)
        late = is_held(value) and not is_content(value)
        self._steps.append(
            SeenStep(
                thread=thread,
                operation=Operation.FLUSH,
                target=target,
                key=key,
                text=None if late else self._value(Operation.STORE, key, value),
                late=value if late else None,
                choice=number,
                part=self._part(Operation.FLUSH, target, key),
                method=None,
                sites=store.sites if store is not None else (),
                held=(),
                event=True,
            )
        )
        if self.observation is not None:
            self._observe(self.observation, None, target, key, value)

    def waiting(self, thread: str, operation: str, target: object) -> None:
        """Note where a thread is about to block, in that thread's greenlet."""
        frame = sys._getframe().f_back  # pyright: ignore[reportPrivateUsage]
        state = self._thread(thread)
        if not self._names.is_known(target):
            self._hold_frames(thread, frame)
        self._names.number(target)
        state.sites = self._locator.sites(frame) or state.sites
        tasks = self._waiting_tasks(target)
        state.pending = PendingWait(Operation.of(operation), target, len(self._steps), tasks)
        # Variables of the tasks that wait for others name an object better than the parameters of these.
        for task in reversed(tasks or ()):
            for active in task.frames:
                self._hold_frames(thread, active)
        if self.observation is not None:
            sites, frames = self._locator.sites(frame), self._locator.visible_frames(frame)
            self.observation.waiting(thread, len(self._steps), sites, frames)

    def blocked(self, thread: str, operation: str, target: object) -> None:
        """Note that a thread is still waiting when the execution has ended."""
        self._blocked.append((thread, self._wait_word(thread, Operation.of(operation)), target))

    def failure(
        self, kind: ViolationKind, message: str, thread: str | None, exception: BaseException | None = None
    ) -> Failure:
        """The failure of this execution, at the place where `exception` was raised (or where the thread
        is).
        """
        if exception is None:
            return Failure(kind, message, thread, self._thread(thread).sites if thread else ())
        sites = self._locator.sites_of_traceback(exception.__traceback__)
        return Failure(
            kind,
            message,
            thread,
            sites or (self._thread(thread).sites if thread else ()),
            class_name(exception),
            "".join(traceback.format_tb(exception.__traceback__)),
        )

    def calls_of(self, exception: BaseException) -> tuple[Call, ...]:
        """The active calls where an exception was raised, innermost first, as the observation sees them."""
        if self.observation is None:
            return ()
        sites = self._locator.sites_of_traceback(exception.__traceback__)
        frames = self._locator.frames_of_traceback(exception.__traceback__)
        return self.observation.calls_of_traceback(sites, frames)

    def name_of(self, target: object) -> str:
        """The readable name of an object, as reports have it; for the time after `execution`."""
        return self._thread_name(target) if id(target) in self._paths else self._name(target)

    def label_of(self, target: object) -> str:
        """What to call an object within a value: `Account#1`, `<Lock>`; for the time after `execution`."""
        return self._label(target)

    def place_name(self, owner: object, key: str) -> str:
        """The readable name of an attribute or variable; for the time after `execution`."""
        return self._keyed_name(Operation.LOAD, owner, key)

    def path_of(self, thread: object) -> str | None:
        """The spawn path of a thread object."""
        return self._paths.get(id(thread))

    def wait_target(self, operation: Operation, target: object) -> str | None:
        """The readable name of what a thread waits for; for the time after `execution`."""
        return self._target(operation, target)

    def stuck(self) -> tuple[Stuck, ...]:
        """The threads that wait for ever at the end."""
        return tuple(
            Stuck(thread, operation, target, self._wait(thread, operation, target).since)
            for thread, operation, target in self._blocked
        )

    def execution(self, failure: Failure | None = None) -> Execution:
        """The execution recorded so far, with every name resolved."""
        records = self._with_sources(self._resolved())
        waits = [wait for blocked in self._blocked for wait in self._waits(*blocked)]
        return Execution(records, waits, failure)

    def _resolved(self) -> list[Record]:
        """The steps with their names, which are numbered as they are resolved: whatever is asked of a recorder first,
        those of steps that a schedule leaves unnamed come last.
        """
        order = sorted(range(len(self._steps)), key=lambda index: self._steps[index].operation.is_nameless)
        found = {index: self._record(index, self._steps[index]) for index in order}
        return [found[index] for index in range(len(self._steps))]

    def _with_sources(self, records: list[Record]) -> list[Record]:
        """The records, with the writes of those that did not read from the latest one before them."""
        latest: dict[tuple[int, str | None], int] = {}
        found: list[Record] = []
        for raw, record in zip(self._steps, records, strict=True):
            place = (record.subject, record.key)
            before = latest.get(place, -1)
            if raw.source is not None and raw.source != before + 1:
                newer = f", not {_write(records[before])}" if before >= 0 else ""
                older = f"from {_write(records[raw.source - 1])}" if raw.source else "the initial value"
                record = dataclasses.replace(record, source=older + newer)
            if record.writes:
                latest[place] = record.index
            found.append(record)
        return found

    def schedule_steps(self, *, events_only: bool = False) -> tuple[ScheduleStep, ...]:
        """The steps in the form that a schedule keeps: only those that were scheduling points, if so
        wished.
        """
        self._resolved()
        return tuple(
            ScheduleStep(
                raw.thread,
                raw.operation.scheduled,
                None if raw.operation.is_nameless else self._target(raw.operation, raw.target, raw),
                raw.choice,
            )
            for raw in self._steps
            if raw.event or not events_only
        )

    def _update_sleepers(self, thread: str, operation: Operation, target: object, value: object) -> None:
        """Keep who sleeps on a condition and who was notified: threads wake in the order in which they
        slept.
        """
        if operation is Operation.WAIT and class_name(target) == "Condition":
            self._asleep.setdefault(id(target), []).append(thread)
        elif operation is Operation.NOTIFY and type(value) is int:
            asleep = self._asleep.get(id(target), [])
            self._notified.update(asleep[:value])
            del asleep[:value]
        elif operation is Operation.WAKE:
            self._notified.discard(thread)
            asleep = self._asleep.get(id(target), [])
            if thread in asleep:
                asleep.remove(thread)

    def _thread(self, path: str) -> SeenThread:
        return self._threads.setdefault(path, SeenThread())

    def _hold_frames(self, thread: str, frame: FrameType | None) -> None:
        frames = list(itertools.islice(self._locator.first_party_frames(frame), _MOST_FRAMES + 1))
        is_whole = len(frames) <= _MOST_FRAMES
        for active in reversed(frames[:_MOST_FRAMES]):
            of_model = thread == _MAIN and is_whole and active is frames[-1]
            if of_model:
                self._names.hold_module(active.f_globals)
            self._names.hold_globals(active.f_globals)
            self._names.hold_frame(active, Rank.MODEL_VARIABLE if of_model else Rank.VARIABLE)

    def _hold(self, operation: Operation, target: object, key: object, value: object) -> None:
        if operation not in (Operation.LOAD, *_STORES) or not is_held(value):
            return
        if is_namespace(target):
            self._names.hold_global(cast("dict[str, Any]", target), str(key), value)
        elif _is_cell(target):
            self._names.hold_variable(str(key), value)
        elif _is_item(target, key):
            self._names.hold_item(target, key, value)
        elif type(key) is str:
            self._names.hold_attribute(target, key, value)

    def _value(self, operation: Operation, key: object, value: object) -> str | None:
        if operation is Operation.COMPARE_EXCHANGE and value is True and type(key) is tuple:
            return " → ".join(describe(part, self._label) for part in cast("tuple[object, ...]", key))
        if operation.is_lifecycle or operation is Operation.RELEASE:
            return None
        if value is None and operation not in _WITH_NONE:
            return None
        if isinstance(value, Decision):
            return value.text
        if value is True and operation in (Operation.ACQUIRE, Operation.WAIT, Operation.WAKE):
            return None
        return describe(value, self._label)

    def _label(self, value: object) -> str:
        return self._thread_name(value) if id(value) in self._paths else self._names.label(value)

    def _thread_name(self, thread: object) -> str:
        """The name that the user gave to a thread, else its spawn path."""
        given = instance_dict(thread).get("_name", instance_dict(thread).get("name"))
        if type(given) is str and given and not _DEFAULT_NAME.fullmatch(given):
            return shorten(given, _LONGEST_TARGET)
        return self._paths.get(id(thread), _MAIN)

    def _part(self, operation: Operation, target: object, key: object) -> str | None:
        """The text that says which part of its target an operation accesses; None for all of it."""
        if key is None or operation not in _WITH_ITEM or _is_cell(target):
            return None
        if is_namespace(target):
            return str(key)
        if not _is_item(target, key):
            return f".{key}" if operation is not Operation.CONTAINS else None
        if issubclass(type(target), _KEYED):
            return f"[{describe_key(key, self._label)}]"
        if operation is Operation.CONTAINS or type(key) is not int:
            return None
        return f"[{key if key >= 0 or type(target) is not list else key + len(cast('list[Any]', target))}]"

    def _name(self, target: object) -> str:
        """The name of an object; a lock that only its condition holds is called after the condition."""
        if id(target) in self._conditions and not self._names.find_holder(target):
            return self._names.name(self._conditions[id(target)])
        return self._names.name(target)

    def _record(self, index: int, raw: SeenStep) -> Record:
        target = self._target(raw.operation, raw.target, raw)
        text = raw.text
        if raw.late is not None:
            text = self._thread_name(raw.late) if id(raw.late) in self._paths else self._name(raw.late)
            # "lock ← lock" would say nothing, nor would "lock ← lock#2" for the one stored next.
            text = f"<{class_name(raw.late)}>" if target is not None and text.startswith(target) else text
        if raw.operation is Operation.SPAWN and target != self._paths.get(id(raw.target)):
            text = self._paths.get(id(raw.target))
        reads, writes = effect(raw.operation, raw.method, text)
        return Record(
            index=index,
            thread=raw.thread,
            operation=raw.operation,
            subject=self._subject(raw.operation, raw.target),
            key=raw.part,
            target=target,
            value=text,
            reads=reads,
            writes=writes,
            sites=raw.sites,
            held=tuple(self._name(lock) for lock in raw.held),
            held_subjects=tuple(self._names.number(lock_of(lock)) for lock in raw.held),
            event=raw.event,
        )

    def _subject(self, operation: Operation, target: object) -> int:
        return self._names.number(lock_of(target) if operation in _OF_LOCKS else target)

    def _target(self, operation: Operation, target: object, raw: SeenStep | None = None) -> str | None:
        if operation in _SYMBOLIC and raw is not None:
            return str(raw.key)
        if target is None:
            return None
        if operation.is_lifecycle or id(target) in self._paths:
            return self._thread_name(target)
        return self._keyed_name(operation, target, raw.key if raw is not None else None)

    def _keyed_name(self, operation: Operation, target: object, key: object) -> str:
        if is_namespace(target) and type(key) is str:
            return self._names.global_name(cast("dict[str, Any]", target), key)
        if _is_cell(target) and type(key) is str:
            return key
        name = self._name(target)
        if key is None or (operation not in _WITH_ITEM and operation is not Operation.CALL):
            return name
        if operation is Operation.CALL and type(target) is System:
            return str(key)
        if operation is Operation.CALL:
            return f"{name}.{key}()" if has_method(target, str(key)) else f"{key}({name})"
        if operation is Operation.CONTAINS and not issubclass(type(target), _KEYED):
            return name
        if _is_item(target, key):
            return f"{name}[{describe_key(key, self._label)}]"
        return f"{name}.{key}"

    def tasks_of_waiting_loops(self) -> list[int]:
        """How many tasks wait in each of the event loops whose threads wait for ever."""
        pending = [self._thread(thread).pending for thread, *_ in self._blocked]
        return [len(wait.tasks) for wait in pending if wait is not None and wait.tasks is not None]

    def _waits(self, thread: str, operation: Operation, target: object) -> Iterator[Wait]:
        """The wait of a thread, or those of the tasks of its event loop."""
        wait = self._wait(thread, operation, target)
        pending = self._thread(thread).pending
        if pending is None or pending.tasks is None:
            yield wait
            return
        wait = dataclasses.replace(wait, operation=Operation.AWAIT, target=None)
        if not pending.tasks:
            yield wait
        for task in pending.tasks:
            yield dataclasses.replace(
                wait,
                target=task.for_task or (self._name(task.target) if task.target is not None else None),
                sites=self._locator.sites_of(task.frames),
                task=task.name,
            )

    def _wait(self, thread: str, operation: Operation, target: object) -> Wait:
        state = self._thread(thread)
        pending = state.pending
        held = [
            lock
            for lock in state.locks.now()
            if operation is not Operation.WAIT or lock_of(lock) is not lock_of(target)
        ]
        return Wait(
            thread=thread,
            operation=operation,
            subject=self._subject(operation, target),
            target=self._target(operation, target),
            since=pending.since if pending is not None else len(self._steps),
            owner=self._owner(operation, target),
            sites=state.sites,
            held=tuple(self._name(lock) for lock in held),
            held_subjects=tuple(self._names.number(lock_of(lock)) for lock in held),
        )

    def _owner(self, operation: Operation, target: object) -> str | None:
        if operation is Operation.JOIN:
            return self._paths.get(id(target))
        if operation in (Operation.ACQUIRE, Operation.WAKE):
            return next((path for path, state in self._threads.items() if state.locks.holds(target)), None)
        return None


def _write(record: Record) -> str:
    """A write, by its place and its thread."""
    return f"line {record.location.line} of {record.thread}" if record.location is not None else record.thread


def _is_cell(target: object) -> bool:
    return class_name(target) == "Cell" and class_module(target).partition(".")[0] == "dpor"


def _is_item(target: object, key: object) -> bool:
    """True if `key` is an item of a container rather than an attribute of an instance."""
    if not issubclass(type(target), _CONTAINERS) and class_name(target) not in ("deque", "array"):
        return False
    return type(key) is not str or key not in instance_dict(target)


def _numbered(operation: Operation, number: int) -> int:
    """What a number of the kernel says of a step: which store entered a buffer, or the step that is read from."""
    return number if operation is Operation.BUFFER else number - 1


def _choice(operation: Operation, value: object) -> Choice:
    if isinstance(value, Decision):
        return int(value)
    if operation in (Operation.CHOOSE, Operation.LOOK, Operation.BRANCH) and type(value) in (int, bool, str):
        return cast(Choice, value)
    if operation is Operation.NONDET and is_symbolic(value):
        return shown(value)
    if operation in (Operation.TRY_ACQUIRE, Operation.WAKE) and type(value) is bool:
        return value
    return None
