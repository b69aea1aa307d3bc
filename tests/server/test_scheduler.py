"""Jobs of several files take turns, a known counterexample comes first, and waiting workers are used up."""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dpor.results import CheckRequest, ModelInfo, ReplayRequest, Verdict
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.pool import WorkerPool, warm_command
from dpor_lsp.checking.process import Worker
from dpor_lsp.checking.scheduler import Event, Finished, Job, Replayed, Scheduler, TurnQueue

Act = Callable[[str], list[str]]
MakeTarget = Callable[..., CheckTarget]

COUNTER = """
import dpor

total = 0

def add():
    global total
    total += 1

@dpor.model
def counts():
    dpor.spawn(add)
    dpor.spawn(add)
    dpor.join_all()
    assert total == 2
"""


def finished(events: queue.SimpleQueue[Event]) -> Finished:
    while True:
        event = events.get(timeout=60)
        if isinstance(event, Finished):
            return event


def counting(folder: Path, source: str = COUNTER) -> CheckTarget:
    """A target whose model is checked in the text alone: the file holds nothing."""
    file = folder / "counts.py"
    file.write_text("")
    info = ModelInfo("counts.py", "counts", 11, 5, 11, 11)
    return CheckTarget(info, folder, CheckRequest(str(file), "counts", str(folder), source=source))


def test_groups_take_turns_and_keep_their_own_order(make_target: MakeTarget) -> None:
    turns = TurnQueue()
    for number, group in enumerate("aaabbc"):
        turns.put(number, Job(make_target(), Limits(), group=group))
    order = []
    while (taken := turns.take()) is not None:
        order.append(taken[0])
    assert order == [0, 3, 5, 1, 4, 2]


def test_jobs_of_one_group_are_taken_in_order(make_target: MakeTarget) -> None:
    turns = TurnQueue()
    for number in range(3):
        turns.put(number, Job(make_target(), Limits()))
    assert [taken[0] for _ in range(3) if (taken := turns.take())] == [0, 1, 2]


def test_a_known_counterexample_is_replayed_before_the_check(project: Path) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    pool = WorkerPool(warm_command(sys.executable), 2)
    scheduler = Scheduler(1, events.put)
    try:
        target = counting(project)
        scheduler.submit(Job(target, Limits(), start=pool.take))
        first = finished(events).result
        assert first.verdict is Verdict.VIOLATED
        request = target.request
        schedule = first.violations[0].schedule
        replay = ReplayRequest(request.file, request.model, request.root, schedule, source=COUNTER)
        scheduler.submit(Job(target, Limits(), start=pool.take, first=replay))
        event = events.get(timeout=60)
        while not isinstance(event, Replayed):
            assert not isinstance(event, Finished)
            event = events.get(timeout=60)
        assert event.result.violation is not None
        assert event.result.violation.location == first.violations[0].location
        assert finished(events).result.verdict is Verdict.VIOLATED
    finally:
        scheduler.close()
        pool.close()


def test_a_counterexample_that_cannot_be_followed_does_not_hinder_the_check(project: Path) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    scheduler = Scheduler(1, events.put)
    target = counting(project)
    request = target.request
    replay = ReplayRequest(request.file, request.model, request.root, "no schedule", source=COUNTER)
    scheduler.submit(Job(target, Limits(), first=replay))
    assert finished(events).result.verdict is Verdict.VIOLATED
    scheduler.close()


def test_a_waiting_worker_serves_one_request_and_another_takes_its_place(project: Path) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    pool = WorkerPool(warm_command(sys.executable), 1)
    pool.fill()
    scheduler = Scheduler(1, events.put)
    try:
        for _ in range(2):
            scheduler.submit(Job(counting(project), Limits(), start=pool.take, directory=str(project)))
            assert finished(events).result.verdict is Verdict.VIOLATED
            pool.fill()
    finally:
        scheduler.close()
        pool.close()


def test_a_worker_that_died_while_it_waited_is_passed_over(act: Act, project: Path) -> None:
    started: list[Worker] = []
    pool = WorkerPool(warm_command(sys.executable), 2)
    pool.fill()
    first = pool.take()
    first.end()
    pool._waiting.insert(0, first)
    started.append(pool.take())
    try:
        assert started[0] is not first
        assert started[0].alive
    finally:
        started[0].end()
        pool.close()


def test_a_closed_pool_keeps_no_worker(act: Act) -> None:
    pool = WorkerPool(act("time.sleep(60)"), 1)
    pool.fill()
    waiting = pool._waiting[0]
    pool.close()
    assert not waiting.alive
    pool.fill()
    assert not pool._waiting


def test_other_texts_than_the_files_are_checked(project: Path) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    (project / "amount.py").write_text("STEP = 1\n")
    source = COUNTER.replace("import dpor", "import dpor\nfrom amount import STEP").replace("+= 1", "+= STEP")
    target = counting(project, source.replace("total == 2", "total in (3, 6)"))
    overlays = {str(project / "amount.py"): "STEP = 3\n"}
    edited = replace(target, request=replace(target.request, overlays=overlays))
    scheduler = Scheduler(2, events.put)
    jobs = {Job(target, Limits()): Verdict.VIOLATED, Job(edited, Limits()): Verdict.VERIFIED}
    for job in jobs:
        scheduler.submit(job)
    for _ in jobs:
        event = finished(events)
        assert event.result.verdict is jobs[event.job]
    scheduler.close()
