"""Which steps of a counterexample matter: the ones that a person has to read to understand the failure.

A backward slice from the failure:

1. *Shared* data is what at least two threads access after the first thread was started, at least one of them
   writing it then. Data that only the initialisation wrote cannot explain a difference between schedules.
2. What the failing thread read (for a deadlock: what the waiting threads had read) is *relevant*; so is what a
   thread read before it wrote something relevant, because the value written may depend on it.
3. An access matters if its data is shared and relevant and it comes before the failure.
4. A primitive is relevant if at least two threads use it and it is held around a step that matters, or if somebody
   waits for it for ever, or if it wakes threads (conditions, events, semaphores, queues). Acquiring and releasing
   matter unless nothing between the two does, or if no data matters at all: then what the primitives guard is
   hidden in code that is not instrumented.
5. Drawn values (`choose`), symbolic values, branches on them and fences matter; starting, ending and joining
   threads does not, unless somebody waits for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from dpor.counterexample.operations import Operation
from dpor.counterexample.records import Execution, Record
from dpor.results import ViolationKind

_ACQUISITIONS = frozenset({Operation.ACQUIRE, Operation.TRY_ACQUIRE})
_WAKING = frozenset(
    {
        Operation.WAIT,
        Operation.WAKE,
        Operation.NOTIFY,
        Operation.SET,
        Operation.CLEAR,
        Operation.PUT,
        Operation.GET,
    }
)
_DRAWN = frozenset(
    {
        Operation.CHOOSE,
        Operation.LOOK,
        Operation.NONDET,
        Operation.BRANCH,
        Operation.ASSUME,
        Operation.WAIT_UNTIL,
        Operation.FENCE,
    }
)


def relevant_steps(execution: Execution) -> frozenset[int]:
    """The indices of the steps that matter; a step that does not may be folded away."""
    records = execution.records
    shared = _shared(records)
    relevant = _slice(execution, shared)
    data = {record.index for record in relevant}
    data |= {record.index for record in records if record.operation in _DRAWN}
    data |= _raced(execution, shared)
    return frozenset((data | _synchronisation(execution, data)) - _unwinding(execution))


def _raced(execution: Execution, shared: Sequence[Record]) -> set[int]:
    """Of a data race, the access of the other thread: the failing step reads nothing from it, but it is half of it."""
    failure = execution.failure
    if failure is None or failure.kind is not ViolationKind.DATA_RACE or not execution.records:
        return set()
    last = execution.records[-1]
    others = [record for record in shared if record.thread != last.thread and record.conflicts(last)]
    return {others[-1].index, last.index} if others else set()


def _unwinding(execution: Execution) -> set[int]:
    """The failing thread's releases after everything else it did: the failure had already happened."""
    steps: set[int] = set()
    thread = execution.failure.thread if execution.failure is not None else None
    if thread is None or execution.waits:
        return steps
    for record in reversed(execution.records):
        if record.thread == thread and record.operation not in (Operation.RELEASE, Operation.END):
            break
        if record.thread == thread:
            steps.add(record.index)
    return steps


def _shared(records: Sequence[Record]) -> list[Record]:
    """The accesses to data that several threads use and somebody writes after the first thread was started."""
    start = next(
        (record.index for record in records if record.operation in (Operation.SPAWN, Operation.START)),
        next((record.index for record in records if record.thread != "main"), len(records)),
    )
    by_part: dict[int, dict[str | None, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        # What the library does for itself, and nobody interferes with: a thread looks at what it was given.
        is_inside = not record.event and not record.sites
        if record.operation.is_memory and record.subject >= 0 and record.index > start and not is_inside:
            by_part[record.subject][record.key].append(record)
    shared: list[Record] = []
    for parts in by_part.values():
        whole = parts.get(None, [])
        everything = [record for accesses in parts.values() for record in accesses]
        for key, accesses in parts.items():
            if _is_contended(everything if key is None else accesses + whole):
                shared += accesses
    return sorted(shared, key=lambda record: record.index)


def _is_contended(accesses: Sequence[Record]) -> bool:
    return any(access.writes for access in accesses) and len({access.thread for access in accesses}) > 1


def _slice(execution: Execution, shared: Sequence[Record]) -> list[Record]:
    """The shared accesses that the failure may depend on."""
    failure = execution.failure
    ends: dict[str, int] = {wait.thread: len(execution.records) for wait in execution.waits}
    if failure is not None and failure.thread is not None and not execution.waits:
        ends = {failure.thread: len(execution.records)}
    if not ends:
        return list(shared)
    by_subject: dict[int, list[Record]] = defaultdict(list)
    by_thread: dict[str, list[Record]] = defaultdict(list)
    for record in shared:
        by_subject[record.subject].append(record)
        by_thread[record.thread].append(record)
    found: dict[int, Record] = {}
    done: set[tuple[int, str | None]] = set()
    position = dict.fromkeys(by_thread, 0)
    pending = list(ends.items())
    while pending:
        thread, end = pending.pop()
        accesses = by_thread.get(thread, [])
        while position.get(thread, 0) < len(accesses) and accesses[position[thread]].index <= end:
            read = accesses[position[thread]]
            position[thread] += 1
            if not read.reads:
                continue
            found[read.index] = read
            if (read.subject, read.key) in done:
                continue
            done.add((read.subject, read.key))
            for write in by_subject[read.subject]:
                if write.writes and write.overlaps(read):
                    found[write.index] = write
                    pending.append((write.thread, write.index))
    return sorted(found.values(), key=lambda record: record.index)


def _synchronisation(execution: Execution, data: Iterable[int]) -> set[int]:
    """The operations on primitives that matter, given the accesses that do."""
    waited_for = {wait.subject for wait in execution.waits} - {-1}
    users: dict[int, set[str]] = defaultdict(set)
    for record in execution.records:
        if record.operation.is_synchronisation:
            users[record.subject].add(record.thread)
    for wait in execution.waits:
        users[wait.subject].add(wait.thread)
    important = set(data)
    steps: set[int] = set()
    last: dict[str, int] = {}
    sections: dict[tuple[str, int], int] = {}
    for record in execution.records:
        section = (record.thread, record.subject)
        used = record.operation.is_synchronisation and len(users[record.subject]) > 1
        if (used and record.operation in _WAKING) or (
            used and record.operation is Operation.TRY_ACQUIRE and record.value == "False"
        ):
            steps.add(record.index)
        elif used and record.operation in _ACQUISITIONS:
            sections.setdefault(section, record.index)
        elif used and record.operation is Operation.RELEASE:
            opened = sections.pop(section, None)
            if opened is None or not important or last.get(record.thread, -1) > opened:
                steps |= {record.index} if opened is None else {opened, record.index}
        elif record.operation is Operation.JOIN and record.subject in waited_for:
            steps.add(record.index)
        if record.index in important or record.index in steps:
            last[record.thread] = record.index
    # A lock that is still held at the end matters if somebody waits for it.
    for (thread, subject), opened in sections.items():
        if subject in waited_for or last.get(thread, -1) > opened:
            steps.add(opened)
    return steps
