"""Names the known shapes of concurrency bugs, and only where the execution and the source both show them.

A wrong name misleads more than none, so every definition asks for evidence of three kinds: the order of the
operations, a link in the source between what was read and what was done, and a way from there to the failure.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from dpor.counterexample.operations import Operation
from dpor.counterexample.records import Execution, Record, Site, Wait
from dpor.counterexample.syntax import Evidence, Sources
from dpor.results import Pattern, ViolationKind

_SIGNALS = frozenset({Operation.NOTIFY, Operation.SET})
_FAILED_LOOKUPS = frozenset({"KeyError", "IndexError", "LookupError", "StopIteration", "Empty"})
_MOST_CHECKS = 8
_MOST_STEPS = 2_000
_MOST_WRITES = 64
_LOCKING = frozenset({Operation.ACQUIRE, Operation.TRY_ACQUIRE})


def find_pattern(execution: Execution, relevant: Collection[int], root: Path | None = None) -> Pattern | None:
    """The known pattern that the failing execution shows; None if it shows none for certain.

    `relevant` holds the indices of the steps that matter: a pattern is looked for in them only. `root` is the
    folder that the records' spans are relative to.
    """
    failure = execution.failure
    if failure is None or len(relevant) > _MOST_STEPS:
        return None
    execution = condensed(execution, relevant)
    if is_reordered(execution):
        return None
    if failure.kind.is_standstill:
        if is_lock_order_inversion(execution):
            return Pattern.LOCK_ORDER_INVERSION
        return Pattern.LOST_WAKEUP if is_lost_wakeup(execution) else None
    if failure.kind not in (ViolationKind.ASSERTION, ViolationKind.EXCEPTION):
        return None
    evidence = Evidence(Sources(root))
    if is_lost_update(execution, evidence):
        return Pattern.LOST_UPDATE
    if is_write_skew(execution, evidence):
        return Pattern.WRITE_SKEW
    return Pattern.CHECK_THEN_ACT if is_check_then_act(execution, evidence) else None


def is_reordered(execution: Execution) -> bool:
    """Whether a store left its store buffer other than at once, or a load did not read from the latest write: then
    threads saw memory differently, and the order of the steps is no evidence of who saw what.
    """
    steps = execution.records
    if any(step.source is not None for step in steps):
        return True
    flushed = {
        after.index
        for before, after in itertools.pairwise(steps)
        if before.operation is Operation.BUFFER
        and after.operation is Operation.FLUSH
        and (before.thread, before.subject, before.key) == (after.thread, after.subject, after.key)
    }
    buffered = [step for step in steps if step.operation is Operation.BUFFER]
    return len(buffered) != len(flushed) or any(
        step.operation is Operation.FLUSH and step.index not in flushed for step in steps
    )


def condensed(execution: Execution, relevant: Collection[int]) -> Execution:
    """The execution with only some of its steps, numbered anew."""
    kept = [record for record in execution.records if record.index in relevant]
    return Execution(
        [dataclasses.replace(record, index=index) for index, record in enumerate(kept)],
        [
            dataclasses.replace(wait, since=sum(record.index < wait.since for record in kept))
            for wait in execution.waits
        ],
        execution.failure,
    )


def is_lock_order_inversion(execution: Execution) -> bool:
    """Threads wait in a cycle, each for a lock that the next one holds, and at least two locks are
    involved.
    """
    return len({wait.subject for wait in waiting_cycle(execution.waits)}) > 1


def waiting_cycle(waits: Sequence[Wait]) -> tuple[Wait, ...]:
    """The threads that wait for each other's locks, in the order in which they wait; empty if there is no
    cycle.
    """
    by_thread = {wait.thread: wait for wait in waits if wait.operation in _LOCKING and wait.owner}
    for wait in sorted(by_thread.values(), key=lambda wait: wait.thread):
        path: list[Wait] = []
        current: Wait | None = wait
        while current is not None and current not in path:
            path.append(current)
            current = by_thread.get(current.owner or "")
        if current is wait:
            return tuple(path)
    return ()


def is_lost_update(execution: Execution, evidence: Evidence) -> bool:
    """Two threads read a variable and wrote it back changed, the second from a value that was no longer
    there.

    A read x, then B wrote x to a value made from its own earlier read, then A wrote x to a value made from
    that first read, without reading x again in between; and what the failure depends on includes a read of
    x after that.
    """
    for read, theirs, write in _overwritten(execution):
        if (
            write.reads is False
            and theirs.reads is False
            and _is_read_later(execution, write)
            and evidence.uses(read.sites, write.sites)
            and any(
                evidence.uses(earlier.sites, theirs.sites)
                for earlier in _reads_before(execution.records, theirs)
            )
        ):
            return True
    return False


def is_check_then_act(execution: Execution, evidence: Evidence) -> bool:
    """A thread tested something, another thread changed it, and the first acted as if it had not.

    A read x (looked it up, asked for its length) in the test of a branch; then B wrote x; then A, in that
    branch and without reading x in a test again, changed x or failed there on x. If A's act did not fail
    itself, the failing thread read later what it wrote.
    """
    return any(
        _is_read_later(execution, act) and _is_stale(execution.records, act, evidence)
        for act in execution.records
        if act.writes
    ) or _failed_after_check(execution, evidence)


def is_write_skew(execution: Execution, evidence: Evidence) -> bool:
    """Two threads each read two variables and each changed another one of them, neither seeing the other's
    change.

    A read x and y and then wrote x, B read x and y and then wrote y; A's read of y came before B's write
    and B's read of x before A's write; each write hinges on what its thread read of the other variable; and
    the failing thread read both afterwards.
    """
    # Only the last write of each thread to each variable: an earlier one was its own thread's to overwrite.
    writes = list(
        {
            (record.thread, record.subject, record.key): record
            for record in execution.records
            if record.writes and not record.reads
        }.values()
    )[-_MOST_WRITES:]
    for mine in writes:
        for theirs in writes:
            if mine.thread >= theirs.thread or mine.overlaps(theirs):
                continue
            last = max(mine.index, theirs.index)
            if (
                all(_is_read_later(execution, write, last) for write in (mine, theirs))
                and _skewed(execution.records, mine, theirs, evidence)
                and _skewed(execution.records, theirs, mine, evidence)
            ):
                return True
    return False


def is_lost_wakeup(execution: Execution) -> bool:
    """A thread waits for ever for a signal that was given to nobody, or to the wrong thread.

    Thread A waits on a condition or an event, and either (1) another thread notified it, waking nobody,
    before A began to wait, and A read nothing that is shared in between, so its decision to wait was older
    than the signal; or (2) after A began to wait another thread was woken in its place, and what A had
    tested before it waited has changed since.
    """
    return any(
        wait.operation is Operation.WAIT and (_missed(execution, wait) or _misdirected(execution, wait))
        for wait in execution.waits
    )


def _missed(execution: Execution, wait: Wait) -> bool:
    records = execution.records
    # If the thread read nothing since an earlier signal, it read nothing since the last one either.
    signal = next(
        (
            record
            for record in reversed(records[: wait.since])
            if record.operation in _SIGNALS
            and record.subject == wait.subject
            and record.thread != wait.thread
            and (record.operation is Operation.SET or record.value == "0")
        ),
        None,
    )
    if signal is None:
        return False
    shared = _accessed_by_others(records, wait.thread)
    return not any(
        record.thread == wait.thread and record.reads and (record.subject, record.key) in shared
        for record in records[signal.index : wait.since]
    )


def _misdirected(execution: Execution, wait: Wait) -> bool:
    records = execution.records
    woken = [
        record
        for record in records[wait.since :]
        if record.operation is Operation.WAKE and record.subject == wait.subject
    ]
    signalled = any(
        record.operation is Operation.NOTIFY and record.subject == wait.subject and record.value != "0"
        for record in records[wait.since :]
    )
    if not signalled or not woken or any(record.thread == wait.thread for record in woken):
        return False
    tested = _last_test(records, wait)
    return tested is not None and any(
        later.operation is tested.operation
        and later.reads
        and later.subject == tested.subject
        and later.key == tested.key
        and later.value != tested.value
        for later in _last_same(records, tested, wait.since)
    )


def _last_test(records: Sequence[Record], wait: Wait) -> Record | None:
    """The last thing that a thread read before it began to wait."""
    for record in reversed(records[: wait.since]):
        if record.thread == wait.thread and record.reads:
            return record
    return None


def _last_same(records: Sequence[Record], tested: Record, since: int) -> Iterator[Record]:
    """The last read of the same kind of the same data after a step."""
    for record in reversed(records[since:]):
        if (record.operation, record.subject, record.key) == (tested.operation, tested.subject, tested.key):
            yield record
            return


def _accessed_by_others(records: Sequence[Record], thread: str) -> set[tuple[int, str | None]]:
    return {(record.subject, record.key) for record in records if record.writes and record.thread != thread}


def _is_read_later(execution: Execution, write: Record, after: int | None = None) -> bool:
    """True if what a step wrote is read after it: every such read is one that the failure depends on."""
    start = write.index if after is None else after
    return any(record.reads and record.overlaps(write) for record in execution.records[start + 1 :])


def _overwritten(execution: Execution) -> Iterator[tuple[Record, Record, Record]]:
    """Triples (A's read, B's write, A's write) of one variable, A not having read it again in between."""
    for write in execution.records:
        read = next(_reads_before(execution.records, write), None) if write.writes else None
        if read is not None:
            for theirs in execution.records[read.index + 1 : write.index]:
                if theirs.thread != write.thread and theirs.writes and theirs.overlaps(write):
                    yield read, theirs, write


def _reads_before(records: Sequence[Record], write: Record) -> Iterator[Record]:
    """The reads of what `write` writes by its own thread, the last first, back to that thread's write
    before.
    """
    for record in reversed(records[: write.index]):
        if record.thread != write.thread or not record.overlaps(write):
            continue
        if record.reads:
            yield record
        if record.writes:
            return


def _is_stale(records: Sequence[Record], act: Record, evidence: Evidence) -> bool:
    """True if another thread wrote what an act writes after the last check that the act hinges on."""
    check = _last_check(records[: act.index], act.thread, act, act.sites, evidence)
    return check is not None and any(
        theirs.writes and theirs.thread != act.thread and theirs.overlaps(act) and theirs.overlaps(check)
        for theirs in records[check.index : act.index]
    )


def _last_check(
    records: Sequence[Record],
    thread: str,
    data: Record,
    sites: Sequence[Site],
    evidence: Evidence,
) -> Record | None:
    """The last of a thread's reads of some data that what it does at `sites` hinges on."""
    reads = (
        record
        for record in reversed(records)
        if record.thread == thread and record.reads and record.overlaps(data)
    )
    return next(
        (record for record in itertools.islice(reads, _MOST_CHECKS) if evidence.guards(record.sites, sites)),
        None,
    )


def _failed_after_check(execution: Execution, evidence: Evidence) -> bool:
    """True if the failing thread failed on data that another one had written after the last check of it.

    It failed on that data if the failing line read it again after the write, or if a look-up failed, which
    leaves no step.
    """
    failure = execution.failure
    if failure is None or failure.thread is None or failure.kind is not ViolationKind.EXCEPTION:
        return False
    records = execution.records
    line = failure.sites[0].span.line if failure.sites else 0
    last = {
        (record.subject, record.key): record
        for record in records
        if record.writes and record.thread != failure.thread
    }
    for theirs in last.values():
        read_again = any(
            record.thread == failure.thread
            and record.overlaps(theirs)
            and any(site.span.line == line for site in record.sites)
            for record in records[theirs.index :]
        )
        if read_again or failure.exception in _FAILED_LOOKUPS:
            check = _last_check(records, failure.thread, theirs, failure.sites, evidence)
            if check is not None and check.index < theirs.index:
                return True
    return False


def _skewed(records: Sequence[Record], mine: Record, theirs: Record, evidence: Evidence) -> bool:
    """True if `mine` hinges on a read of what `theirs` overwrites later, and its thread read its own target
    too.
    """
    own = [record for record in records[: mine.index] if record.thread == mine.thread and record.reads]
    of_theirs = [record for record in own if record.overlaps(theirs)]
    return (
        any(record.overlaps(mine) for record in own)
        and bool(of_theirs)
        and of_theirs[-1].index < theirs.index
        and (
            evidence.guards(of_theirs[-1].sites, mine.sites) or evidence.uses(of_theirs[-1].sites, mine.sites)
        )
    )
