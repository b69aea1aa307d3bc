"""Loads with a reads-from choice, as a model sees them: `graph` under TSO, PSO and RC11."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.checking.guided_replay import run_guided
from dpor.codes import Code
from dpor.counterexample.replay import resolve
from dpor.counterexample.schedule import decode
from dpor.counterexample.text import render
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, ReplayRequest, ReplayResult, Verdict
from dpor.tracing import trace_model

HEAD = """
import threading

import dpor


class Pair:
    shared = 0

    def __init__(self):
        self.first = self.second = 0
        self.items = [0, 0]
        self.table = {"first": 0}
        self.lock = threading.Lock()
        self.x, self.y = dpor.Atomic(0), dpor.Atomic(0)


@dpor.model
def program():
    pair, seen = Pair(), {}
"""

STORE_BUFFERING = """
def one():
    pair.first = 1
    seen["one"] = pair.second
def two():
    pair.second = 1
    seen["two"] = pair.first
dpor.spawn(one)
dpor.spawn(two)
dpor.join_all()
assert seen != {"one": 0, "two": 0}
"""

# What a thread does with itself alone orders nothing.
DRAWING = STORE_BUFFERING.replace(
    "= 1\n", "= 1\n    dpor.assume(dpor.choose([True]) or dpor.choose([True, False]))\n"
)
SYMBOLIC = STORE_BUFFERING.replace("= 1\n", "= 1\n    drawn = dpor.nondet_bool() and dpor.nondet_bool()\n")

MESSAGE = """
def send():
    pair.first = 42
    FIRST
def receive():
    if SECOND:
        assert pair.first == 42, "old message"
dpor.spawn(send)
dpor.spawn(receive)
dpor.join_all()
"""

MESSAGE_PASSING = MESSAGE.replace("FIRST", "pair.second = 1").replace("SECOND", "pair.second")

TWO_WRITES = """
def one():
    pair.first = 1
    pair.second = 2
def two():
    pair.second = 1
    pair.first = 2
dpor.spawn(one)
dpor.spawn(two)
dpor.join_all()
assert not (pair.first == 1 and pair.second == 1)
"""

LOAD_BUFFERING = """
def one():
    seen["one"] = pair.x.load(order="relaxed")
    pair.y.store(1, order="relaxed")
def two():
    seen["two"] = pair.y.load(order="relaxed")
    pair.x.store(1, order="relaxed")
dpor.spawn(one)
dpor.spawn(two)
dpor.join_all()
assert seen != {"one": 1, "two": 1}
"""

VIOLATIONS = [
    ("tso", STORE_BUFFERING),
    ("pso", STORE_BUFFERING),
    ("rc11", STORE_BUFFERING),
    ("tso", DRAWING),
    ("pso", DRAWING),
    ("rc11", DRAWING),
    ("pso", MESSAGE_PASSING),
    ("rc11", MESSAGE_PASSING),
    ("pso", TWO_WRITES),
    ("rc11", TWO_WRITES),
]


def source(body: str) -> str:
    return HEAD + "\n".join(f"    {line}" for line in body.strip().splitlines()) + "\n"


def check(folder: Path, body: str, memory_model: str, **options: object) -> ModelResult:
    file = folder / "chosen.py"
    file.write_text(source(body), encoding="utf-8")
    chosen = {"memory_model": memory_model, "algorithm": "graph", **options}
    return check_model(CheckRequest(str(file), "program", str(folder), options=chosen))


def replayed(folder: Path, schedule: str) -> ReplayResult:
    request = ReplayRequest(str(folder / "chosen.py"), "program", str(folder), schedule)
    resolved, decoded = resolve(request)
    return run_guided(resolved, decoded)


@pytest.mark.parametrize("partition", ["coherence", "rf"])
@pytest.mark.parametrize(("memory_model", "body"), VIOLATIONS)
def test_a_counterexample_replays(tmp_path, memory_model, body, partition):
    result = check(tmp_path, body, memory_model, partition=partition)
    assert result.verdict is Verdict.VIOLATED
    [violation] = result.violations
    schedule = decode(violation.schedule)
    assert (schedule.memory_model, schedule.chosen_reads) == (memory_model, True)
    again = replayed(tmp_path, violation.schedule)
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.trace == violation.trace
    assert again.violation.schedule == violation.schedule


@pytest.mark.parametrize(
    ("memory_model", "body"),
    [
        ("sc", STORE_BUFFERING),
        ("sc", MESSAGE_PASSING),
        ("tso", MESSAGE_PASSING),
        ("tso", TWO_WRITES),
        ("tso", LOAD_BUFFERING),
        ("pso", LOAD_BUFFERING),
        ("rc11", LOAD_BUFFERING),
    ],
)
@pytest.mark.parametrize("partition", ["coherence", "rf"])
def test_what_the_memory_model_forbids_is_verified(tmp_path, memory_model, body, partition):
    assert check(tmp_path, body, memory_model, partition=partition).verdict is Verdict.VERIFIED


def test_a_report_says_where_an_old_value_comes_from(tmp_path):
    [violation] = check(tmp_path, MESSAGE_PASSING, "rc11").violations
    [old] = [step for step in violation.trace if step.source is not None]
    assert (old.thread, old.operation, old.value) == ("main.1", "load", "0")
    written = next(step for step in violation.trace if (step.thread, step.value) == ("main.0", "42"))
    assert written.location is not None
    assert old.source == f"from line 11 of main, not line {written.location.line} of main.0"
    text = render(violation, width=160, color=False, root=tmp_path)
    assert "Pair#1.first = 0 (from line 11 of main, not" in text


def test_the_trace_view_says_where_an_old_value_comes_from(tmp_path):
    [violation] = check(tmp_path, MESSAGE_PASSING, "rc11").violations
    request = ReplayRequest(str(tmp_path / "chosen.py"), "program", str(tmp_path), violation.schedule)
    document = trace_model(request)
    assert document.divergence is None
    assert any("(from line 11 of main, not line" in step.phrase for step in document.steps)
    # Reading an old value changes nothing.
    assert not any(step.changes for step in document.steps if step.operation == "load")


@pytest.mark.parametrize(
    ("store", "load", "verdict"),
    [
        ("relaxed", "relaxed", Verdict.VIOLATED),
        ("release", "relaxed", Verdict.VIOLATED),
        ("relaxed", "acquire", Verdict.VIOLATED),
        ("release", "acquire", Verdict.VERIFIED),
        ("seq_cst", "seq_cst", Verdict.VERIFIED),
    ],
)
def test_release_and_acquire_pass_a_message_under_rc11(tmp_path, store, load, verdict):
    body = MESSAGE.replace("FIRST", f"pair.x.store(1, order={store!r})")
    body = body.replace("SECOND", f"pair.x.load(order={load!r})")
    assert check(tmp_path, body, "rc11").verdict is verdict


def test_fences_pass_a_message_under_rc11(tmp_path):
    body = MESSAGE.replace("FIRST", "dpor.fence(order='release'); pair.x.store(1, order='relaxed')")
    body = body.replace("SECOND", "pair.x.load(order='relaxed') and not dpor.fence(order='acquire')")
    assert check(tmp_path, body, "rc11").verdict is Verdict.VERIFIED


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
@pytest.mark.parametrize(
    ("store", "load"),
    [
        ("seen['full'] = 1", "'full' in seen"),
        ("with pair.lock: pair.items.append(1)", "len(pair.items) == 3"),
        ("pair.items.append(1)", "len(pair.items) == 3"),
    ],
)
def test_operations_on_objects_pass_a_message(tmp_path, memory_model, store, load):
    body = MESSAGE.replace("FIRST", store).replace("SECOND", load)
    assert check(tmp_path, body, memory_model).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
def test_items_are_read_as_a_whole_once_their_stores_are_over(tmp_path, memory_model):
    body = """
def store(value):
    pair.items[0] = pair.table["first"] = value
dpor.spawn(store, 1)
dpor.spawn(store, 2)
dpor.join_all()
assert pair.items != [1, 0] or list(pair.table.values()) != [2], "mixed"
"""
    [violation] = check(tmp_path, body, memory_model).violations
    assert violation.message == "assertion failed: mixed"
    assert replayed(tmp_path, violation.schedule).divergence is None


@pytest.mark.parametrize("partition", ["coherence", "rf"])
def test_an_attribute_may_be_missing_or_that_of_the_class(tmp_path, partition):
    body = """
def one():
    pair.shared = 1
    del pair.first
def two():
    seen["shared"] = pair.shared
    seen["first"] = getattr(pair, "first", None)
dpor.spawn(one)
dpor.spawn(two)
dpor.join_all()
assert seen != VALUES
"""
    for shared in (0, 1):
        for first in (0, None):
            values = repr({"shared": shared, "first": first})
            result = check(tmp_path, body.replace("VALUES", values), "rc11", partition=partition)
            assert result.verdict is Verdict.VIOLATED
            again = replayed(tmp_path, result.violations[0].schedule)
            assert again.violation is not None
            assert again.violation.trace == result.violations[0].trace


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
@pytest.mark.parametrize("wait", ["dpor.wait_until(lambda: pair.second)", "while not pair.second: pass"])
def test_waiting_ends_and_sees_what_the_memory_model_lets_it_see(tmp_path, memory_model, wait):
    body = f"""
def receive():
    {wait}
    assert pair.first == 42
def send():
    pair.first = 42
    pair.second = 1
dpor.spawn(receive)
dpor.spawn(send)
dpor.join_all()
"""
    result = check(tmp_path, body, memory_model)
    assert result.verdict is (Verdict.VERIFIED if memory_model == "tso" else Verdict.VIOLATED)
    if result.violations:
        assert replayed(tmp_path, result.violations[0].schedule).violation is not None


@pytest.mark.parametrize("memory_model", ["sc", "tso", "pso", "rc11"])
@pytest.mark.parametrize("partition", ["coherence", "rf"])
@pytest.mark.parametrize(
    ("wait", "kind"),
    [("dpor.wait_until(lambda: pair.second == 3)", "deadlock"), ("while pair.second != 3: pass", "livelock")],
)
def test_waiting_for_ever_is_found(tmp_path, memory_model, partition, wait, kind):
    body = f"""
def receive():
    {wait}
def send(value):
    pair.second = value
dpor.spawn(receive)
dpor.spawn(send, 1)
dpor.spawn(send, 2)
dpor.join_all()
"""
    [violation] = check(tmp_path, body, memory_model, partition=partition).violations
    assert violation.kind.value == kind
    again = replayed(tmp_path, violation.schedule)
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.kind.value == kind


RESIZED = {
    "size": ("pair.items[0] = 1", "pair.items.insert(0, 2)"),
    "whole": ("pair.items[0] = 1", "seen['sum'] = sum(pair.items)"),
    "compared": ("pair.items[0] = 1", "seen['same'] = pair.items == [1, 0]"),
    "removal": ("pair.table['first'] = 1", "del pair.table['first']"),
    "cache": (
        "if 'new' not in pair.table: pair.table['new'] = 0\n    pair.table['new'] += 1",
        "if 'new' not in pair.table: pair.table['new'] = 0\n    pair.table['new'] += 1",
    ),
}
REFUSED = {
    "two looks": ("pair.first = 1", "dpor.wait_until(lambda: pair.first and pair.first)"),
    "attributes": ("pair.first = 1", "seen['all'] = dict(vars(pair))"),
}


def of_two_threads(one, two):
    return f"""
def one():
    {one}
def two():
    {two}
dpor.spawn(one)
dpor.spawn(two)
dpor.join_all()
"""


@pytest.mark.parametrize(("memory_model", "partition"), [("sc", "rf"), ("rc11", "coherence"), ("rc11", "rf")])
@pytest.mark.parametrize("case", RESIZED)
def test_a_container_that_is_resized_keeps_its_order(tmp_path, case, memory_model, partition):
    body = of_two_threads(*RESIZED[case])
    expected = check(tmp_path, body, "sc", algorithm="optimal")
    result = check(tmp_path, body, memory_model, partition=partition)
    assert (result.verdict, result.executions) == (expected.verdict, expected.executions)
    named = any("taken as ordered" in assumption.message for assumption in result.assumptions)
    assert named == (memory_model == "rc11")


def test_what_was_stored_before_an_item_was_inserted_is_seen_with_it(tmp_path):
    body = """
def send():
    pair.first = 42
    pair.items.append(1)
def receive():
    if len(pair.items) == 3 and pair.items[2] == 1:
        assert pair.first == 42
dpor.spawn(send)
dpor.spawn(receive)
"""
    result = check(tmp_path, body, "rc11")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_the_items_of_a_container_that_nobody_resizes_stay_relaxed(tmp_path):
    # The indices are found to race only while the items are used already.
    body = """
items = pair.items
def send():
    for value in (1, 2):
        place = pair.x.load("relaxed")
        items[place] = value
        pair.x.store(place + 1, "relaxed")
def receive():
    for place in range(2):
        if pair.x.load("relaxed") > place:
            seen[place] = items[place]
            pair.y.store(place, "relaxed")
dpor.spawn(send)
dpor.spawn(receive)
dpor.join_all()
assert 0 not in seen.values()
"""
    result = check(tmp_path, body, "rc11")
    assert result.verdict is Verdict.VIOLATED
    assert not result.assumptions


def test_a_violation_with_a_container_that_keeps_its_order_is_replayed(tmp_path):
    body = """
def one():
    pair.items.append(pair.items[0])
def two():
    pair.items[0] = 1
    pair.first = 1
dpor.spawn(one)
dpor.spawn(two)
if pair.first == 1:
    assert pair.items[0] == 1
    assert pair.items[-1] == 1
"""
    result = check(tmp_path, body, "rc11")
    assert result.verdict is Verdict.VIOLATED
    again = replayed(tmp_path, result.violations[0].schedule)
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.trace == result.violations[0].trace


@pytest.mark.parametrize(
    ("memory_model", "case"),
    [*(("tso", case) for case in (*REFUSED, *RESIZED)), *(("rc11", case) for case in REFUSED)],
)
def test_what_has_no_meaning_there_is_refused(tmp_path, case, memory_model):
    body = of_two_threads(*{**REFUSED, **RESIZED}[case])
    with pytest.raises(DporError) as refused:
        check(tmp_path, body, memory_model)
    assert refused.value.code is Code.UNSUPPORTED_PAIR
    assert f"under memory model {memory_model!r}" in refused.value.message


def test_an_unsupported_algorithm_names_graph_for_rc11(tmp_path):
    with pytest.raises(DporError) as refused:
        check(tmp_path, STORE_BUFFERING, "rc11", algorithm="optimal")
    assert refused.value.code is Code.UNSUPPORTED_PAIR
    assert refused.value.fix == "use --algorithm graph"


@pytest.mark.parametrize(
    "options",
    [
        {"partition": "rf", "algorithm": "optimal"},
        {"races": "error", "memory_model": "tso"},
        {"races": "warn", "partition": "rf"},
        {"preemption_bound": 1, "memory_model": "tso"},
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options):
    memory_model = options.pop("memory_model", "sc")
    with pytest.raises(DporError) as refused:
        check(tmp_path, STORE_BUFFERING, memory_model, **options)
    assert refused.value.code is Code.BAD_OPTION


def test_classes_of_reads_from_are_fewer_where_nobody_reads(tmp_path):
    body = """
def store(value):
    pair.first = value
for value in range(3):
    dpor.spawn(store, value)
dpor.join_all()
"""
    assert check(tmp_path, body, "rc11").executions == 6
    assert check(tmp_path, body, "rc11", partition="rf").executions == 1


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
def test_a_branch_on_a_symbolic_value_is_no_fence(tmp_path, memory_model):
    pytest.importorskip("z3")
    result = check(tmp_path, SYMBOLIC, memory_model, algorithm="concolic")
    assert result.verdict is Verdict.VIOLATED
    again = replayed(tmp_path, result.violations[0].schedule)
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.values == result.violations[0].values
