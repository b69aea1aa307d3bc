"""TSO and PSO as a model sees them: what goes through a store buffer, what waits for it, how a report names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.checking.guided_replay import run_guided
from dpor.counterexample.schedule import decode
from dpor.counterexample.text import render
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict

HEAD = '''
import threading

import dpor

first = second = 0


class Pair:
    first = 0
    second = 0

    def __init__(self):
        self.flag = self.data = 0
        self.items = [0, 0]
        self.table = {"first": 0, "second": 0}
        self.lock = threading.Lock()


class Checked(Pair):
    """Stores through a method of its own."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)


class Fallback(Pair):
    def __getattr__(self, name):
        return -1


@dpor.model
def program():
'''


def program(body: str) -> str:
    return HEAD + "\n".join(f"    {line}" for line in body.strip().splitlines()) + "\n"


def check(
    folder: Path, body: str, memory_model: str, algorithm: str = "optimal", **options: object
) -> ModelResult:
    file = folder / "weak.py"
    file.write_text(program(body))
    chosen = {"memory_model": memory_model, "algorithm": algorithm, **options}
    return check_model(CheckRequest(str(file), "program", str(folder), options=chosen))


def store_buffering(store: str, load: str, before: str = "", between: str = "", made: str = "Pair()") -> str:
    """Two threads that each store to one place and load the other; both loads giving 0 breaks the model."""
    code = [f"pair = {made}", "seen = []", *before.splitlines()]
    for own, other in (("first", "second"), ("second", "first")):
        code += [f"def {own}_thread():", *(f"    {line}" for line in between_lines(before))]
        code += [f"    {store.format(own)}", *(f"    {line}" for line in between.splitlines())]
        code += [f"    value = {load.format(other)}", "    seen.append(value)"]
    code += ["dpor.spawn(first_thread)", "dpor.spawn(second_thread)", "dpor.join_all()"]
    return "\n".join([*code, "assert seen != [0, 0]"])


def between_lines(before: str) -> list[str]:
    names = [line.split(" = ")[0] for line in before.splitlines()]
    return [f"nonlocal {', '.join(names)}"] if names else []


PLACES = {
    "attribute": store_buffering("pair.{} = 1", "pair.{}"),
    "attribute of a class": store_buffering("Pair.{} = 1", "Pair.{}"),
    "attribute by name": store_buffering("setattr(pair, '{}', 1)", "getattr(pair, '{}')"),
    "attribute with __setattr__": store_buffering("pair.{} = 1", "pair.{}", made="Checked()"),
    "attribute with __getattr__": store_buffering("pair.{} = 1", "pair.{}", made="Fallback()"),
    "module variable": store_buffering("globals_of[0].{} = 1", "globals_of[0].{}", made="Pair()").replace(
        "seen = []", "seen = []\nglobals_of = [pair]"
    ),
    "closure variable": store_buffering("{0}_cell = 1", "{0}_cell", "first_cell = 0\nsecond_cell = 0"),
    "list item": store_buffering("pair.items[len('{}') - 5] = 1", "pair.items[len('{}') - 5]"),
    "dict item": store_buffering("pair.table['{}'] = 1", "pair.table['{}']"),
    "relaxed atomic": store_buffering(
        "{0}_cell.store(1, order='relaxed')",
        "{0}_cell.load()",
        "first_cell = dpor.Atomic(0)\nsecond_cell = dpor.Atomic(0)",
    ),
    "release atomic": store_buffering(
        "{0}_cell.store(1, order='release')",
        "{0}_cell.load(order='acquire')",
        "first_cell = dpor.Atomic(0)\nsecond_cell = dpor.Atomic(0)",
    ),
}

FENCES = {
    "fence": "dpor.fence()",
    "lock": "with pair.lock: pass",
    "append": "pair.items.append(1)",
    "length": "len(pair.items)",
    "insertion": "pair.table[len(pair.table)] = 1",
    "exchange": "dpor.Atomic(0).exchange(1, order='relaxed')",
    "deletion": "box = Pair(); box.gone = 1; del box.gone",
    "thread": "dpor.spawn(int)",
}

MESSAGE = """
pair = Pair()
def write():
    pair.data = 42
    {barrier}
    pair.flag = 1
def read():
    if pair.flag:
        assert pair.data == 42
dpor.spawn(write)
dpor.spawn(read)
dpor.join_all()
"""


@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
@pytest.mark.parametrize("memory_model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("place", PLACES)
def test_a_store_to_any_place_may_be_delayed_past_a_load(tmp_path, place, memory_model, algorithm):
    result = check(tmp_path, PLACES[place], memory_model, algorithm)
    assert result.verdict is (Verdict.VERIFIED if memory_model == "sc" else Verdict.VIOLATED)


@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
@pytest.mark.parametrize("memory_model", ["tso", "pso"])
@pytest.mark.parametrize("fence", FENCES)
def test_what_waits_for_the_store_buffer_is_a_fence_whether_or_not_it_is_shared(
    tmp_path, fence, memory_model, algorithm
):
    body = store_buffering("pair.{} = 1", "pair.{}", between=FENCES[fence])
    assert check(tmp_path, body, memory_model, algorithm).verdict is Verdict.VERIFIED
    # On an object that no other thread reaches, which costs no event by itself, it is a fence all the same.
    private = store_buffering(
        "mine = Pair(); pair.{} = 1", "pair.{}", between=FENCES[fence].replace("pair", "mine")
    )
    assert check(tmp_path, private, memory_model, algorithm).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
@pytest.mark.parametrize("order", ["relaxed", "acquire", "release"])
@pytest.mark.parametrize("memory_model", ["tso", "pso"])
def test_weaker_fences_do_not_wait_for_the_store_buffer(tmp_path, order, memory_model, algorithm):
    body = store_buffering("pair.{} = 1", "pair.{}", between=f"dpor.fence(order='{order}')")
    assert check(tmp_path, body, memory_model, algorithm).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
@pytest.mark.parametrize("elide", [True, False])
@pytest.mark.parametrize(
    ("memory_model", "barrier", "verdict"),
    [
        ("tso", "pass", Verdict.VERIFIED),
        ("pso", "pass", Verdict.VIOLATED),
        ("pso", "dpor.fence(order='release')", Verdict.VERIFIED),
        ("pso", "dpor.fence(order='acq_rel')", Verdict.VERIFIED),
        ("pso", "dpor.fence(order='acquire')", Verdict.VIOLATED),
        ("pso", "dpor.Atomic(0).store(1, order='release')", Verdict.VERIFIED),
        ("pso", "dpor.fence()", Verdict.VERIFIED),
    ],
)
def test_data_passed_by_a_flag_is_seen_only_if_stores_stay_in_order(
    tmp_path, memory_model, barrier, verdict, elide, algorithm
):
    result = check(tmp_path, MESSAGE.format(barrier=barrier), memory_model, algorithm, elide=elide)
    assert result.verdict is verdict


@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
@pytest.mark.parametrize("memory_model", ["tso", "pso"])
def test_data_under_a_lock_costs_no_more_executions_than_under_sequential_consistency(
    tmp_path, memory_model, algorithm
):
    body = """
pair = Pair()
def count():
    for _ in range(2):
        with pair.lock:
            pair.data += 1
for _ in range(2):
    dpor.spawn(count)
dpor.join_all()
assert pair.data == 4
"""
    plain, weak = check(tmp_path, body, "sc"), check(tmp_path, body, memory_model, algorithm)
    assert weak.verdict is Verdict.VERIFIED
    assert (weak.executions, weak.redundant) == (plain.executions, 0)


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
@pytest.mark.parametrize("algorithm", ["optimal", "source", "graph"])
def test_a_thread_sees_its_own_stores_at_once(tmp_path, memory_model, algorithm):
    body = """
pair = Pair()
cell = dpor.Atomic(0)
captured = 0
def run(number):
    nonlocal captured
    pair.data = captured = pair.items[0] = pair.table["first"] = number
    cell.store(number, order="relaxed")
    seen = [pair.data, captured, pair.items[0], pair.table["first"], cell.load()]
    assert all(value > 0 for value in seen), seen
    if number == 1:
        return
    Pair.first = 5
    assert pair.first == 5
dpor.spawn(run, 1)
dpor.spawn(run, 2)
dpor.join_all()
"""
    result = check(tmp_path, body, memory_model, algorithm, max_executions=300)
    assert result.violations == ()


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
@pytest.mark.parametrize("algorithm", ["optimal", "source", "exhaustive", "graph"])
def test_a_predicate_waits_for_what_has_reached_memory(tmp_path, memory_model, algorithm):
    body = """
pair = Pair()
def change():
    pair.flag = 1
    pair.flag = 2
def wait():
    dpor.wait_until(lambda: pair.flag == 1)
dpor.spawn(change)
dpor.spawn(wait)
dpor.join_all()
"""
    result = check(tmp_path, body, memory_model, algorithm)
    # The predicate holds between the two flushes; an execution that misses it waits for ever.
    assert result.verdict is Verdict.VIOLATED
    assert [violation.kind.value for violation in result.violations] == ["deadlock"]


@pytest.mark.parametrize("algorithm", ["optimal", "source", "exhaustive"])
@pytest.mark.parametrize(("memory_model", "counts"), [("tso", (0, 1)), ("pso", (2, 4))])
def test_a_predicate_over_two_places_holds_between_two_flushes(tmp_path, memory_model, counts, algorithm):
    body = """
pair = Pair()
def change():
    pair.data = 1
    pair.flag = 1
dpor.spawn(change)
dpor.spawn(lambda: dpor.wait_until(lambda: pair.data == 0 and pair.flag == 1))
dpor.join_all()
"""
    file = tmp_path / "weak.py"
    file.write_text(program(body))
    options = {"memory_model": memory_model, "algorithm": algorithm}
    request = CheckRequest(str(file), "program", str(tmp_path), options=options, all_violations=True)
    result = check_model(request)
    # Only where the flag overtakes the data is there a moment at which the predicate holds.
    assert (result.executions, result.blocked) == counts


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
def test_a_store_to_an_item_that_has_been_removed_is_lost(tmp_path, memory_model):
    body = """
pair = Pair()
def store():
    pair.table["first"] = 7
    pair.items[1] = 7
def remove():
    pair.table.pop("first", None)
    pair.items.pop()
dpor.spawn(store)
dpor.spawn(remove)
dpor.join_all()
assert pair.table.get("first", 7) == 7 and len(pair.items) == 1
"""
    for algorithm in ("optimal", "source", "exhaustive"):
        kinds = {violation.message for violation in check(tmp_path, body, memory_model, algorithm).violations}
        assert all("IndexError" in message for message in kinds)


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_drawn_schedules_delay_stores_too(tmp_path, memory_model, algorithm):
    result = check(tmp_path, PLACES["attribute"], memory_model, algorithm, max_executions=300, seed=1)
    assert result.verdict is Verdict.VIOLATED


def test_a_counterexample_names_each_flush_and_replays(tmp_path):
    result = check(tmp_path, MESSAGE.format(barrier="pass"), "pso")
    (violation,) = result.violations
    steps = [(step.thread, step.operation, step.target) for step in violation.trace]
    stored = steps.index(("main.0", "buffer", "Pair#1.data"))
    flushed = steps.index(("main.0", "flush", "Pair#1.flag"))
    assert stored < flushed
    assert ("main.0", "flush", "Pair#1.data") not in steps
    flush = violation.trace[flushed]
    assert flush.location is not None
    assert flush.location.line == violation.trace[flushed - 1].location.line
    text = render(violation, width=100, color=False, root=tmp_path)
    assert "buffers Pair#1.data ← 42" in text
    assert "flushes Pair#1.flag ← 1" in text

    schedule = decode(violation.schedule)
    assert schedule.memory_model == "pso"
    assert "main.0: flush Pair#1.flag -> 2" in [str(step) for step in schedule.steps]
    file = str(tmp_path / "weak.py")
    request = ReplayRequest(
        file, "program", str(tmp_path), violation.schedule, options={"memory_model": "pso"}
    )
    replayed = run_guided(request, schedule)
    assert replayed.divergence is None
    assert replayed.violation is not None
    assert replayed.violation.trace == violation.trace


def test_a_replay_says_where_a_flush_is_no_longer_possible(tmp_path):
    result = check(tmp_path, MESSAGE.format(barrier="pass"), "pso")
    file = tmp_path / "weak.py"
    file.write_text(program(MESSAGE.format(barrier="dpor.fence(order='release')")))
    text = result.violations[0].schedule
    request = ReplayRequest(str(file), "program", str(tmp_path), text, options={"memory_model": "pso"})
    replayed = run_guided(request, decode(text))
    assert replayed.divergence is not None
    assert "step" in replayed.divergence


def test_data_races_are_those_of_the_machine(tmp_path):
    body = """
pair = Pair()
ready = dpor.Atomic(False)
def write():
    pair.data = 1
    ready.store(True, order="{order}")
def read():
    if ready.load(order="acquire"):
        pair.data
dpor.spawn(write)
dpor.spawn(read)
dpor.join_all()
"""
    for order in ("release", "seq_cst"):
        for memory_model in ("tso", "pso"):
            result = check(tmp_path, body.format(order=order), memory_model, races="error")
            assert result.verdict is Verdict.VERIFIED, (order, memory_model)
    racy = body.replace('if ready.load(order="acquire"):', "if True:")
    assert check(tmp_path, racy.format(order="release"), "tso", races="error").verdict is Verdict.VIOLATED


def test_a_loop_that_waits_for_a_store_ends_once_it_has_been_flushed(tmp_path):
    body = """
pair = Pair()
def wait():
    while not pair.flag:
        pass
dpor.spawn(wait)
pair.flag = 1
dpor.join_all()
"""
    for memory_model in ("tso", "pso"):
        assert check(tmp_path, body, memory_model).verdict is Verdict.VERIFIED


def test_a_thread_that_spins_on_its_own_store_is_in_a_livelock(tmp_path):
    body = """
pair = Pair()
def spin():
    pair.flag = 1
    while pair.flag == 1:
        pass
def look():
    pair.flag
dpor.spawn(spin)
dpor.spawn(look)
dpor.join_all()
"""
    for memory_model in ("sc", "tso", "pso"):
        result = check(tmp_path, body, memory_model)
        assert [violation.kind.value for violation in result.violations] == ["livelock"], memory_model


@pytest.mark.parametrize(("algorithm", "memory_model"), [("unfolding", "tso"), ("parsimonious", "rc11")])
def test_an_unsupported_pair_is_refused(tmp_path, algorithm, memory_model):
    with pytest.raises(DporError, match="no algorithm"):
        check(tmp_path, PLACES["attribute"], memory_model, algorithm)


@pytest.mark.parametrize("memory_model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("algorithm", ["optimal", "source", "parsimonious", "exhaustive"])
@pytest.mark.parametrize("unwanted", [[1, 0], [0, 1]])
def test_an_index_from_the_end_means_the_item_that_is_last_then(
    tmp_path: Path, memory_model: str, algorithm: str, unwanted: list[int]
) -> None:
    (tmp_path / "model.py").write_text(f"""
import dpor

@dpor.model
def model():
    box = [0]
    def grow():
        box.append(0)
    def store():
        box[-1] = 1
    dpor.spawn(grow)
    dpor.spawn(store)
    dpor.join_all()
    assert box != {unwanted}
""")
    options = {"memory_model": memory_model, "algorithm": algorithm}
    result = check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))
    assert result.verdict is Verdict.VIOLATED
