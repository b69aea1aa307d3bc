"""Data races under RC11: only what C11 calls synchronisation orders accesses, as far as it reads the right write."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict, ViolationKind

HEADER = """
import threading

import dpor

class Shared:
    pass

@dpor.model
def model():
    s = Shared()
    s.data = 0
    s.items = [0]
    flag = dpor.Atomic(0)
    lock = threading.Lock()

    def write():
        {write}

    def update():
        {update}

    def read():
        {read}

    dpor.spawn(write)
    dpor.spawn(update)
    dpor.spawn(read)
"""

NOTHING = "pass"
STORE = "s.data = 1; flag.store(1, '{}')"
LOAD = "if flag.load('{}') == 1: s.data"

# What one thread writes, another one updates, and a third one reads.
ORDERED = {
    "release and acquire": (STORE.format("release"), NOTHING, LOAD.format("acquire")),
    "sequentially consistent": (STORE.format("seq_cst"), NOTHING, LOAD.format("seq_cst")),
    "two fences": (
        "s.data = 1; dpor.fence('release'); flag.store(1, 'relaxed')",
        NOTHING,
        "if flag.load('relaxed') == 1:\n            dpor.fence('acquire'); s.data",
    ),
    "a release fence": (
        "s.data = 1; dpor.fence('acq_rel'); flag.store(1, 'relaxed')",
        NOTHING,
        LOAD.format("acquire"),
    ),
    "an acquire fence": (
        STORE.format("release"),
        NOTHING,
        "if flag.load('relaxed') == 1:\n            dpor.fence('seq_cst'); s.data",
    ),
    "a release sequence": (
        STORE.format("release"),
        "flag.fetch_add(1, 'relaxed')",
        "if flag.load('acquire') == 2: s.data",
    ),
    "a compare-exchange that takes place": (
        "s.data = 1; flag.compare_exchange(0, 1, 'release')",
        NOTHING,
        "if flag.compare_exchange(1, 2, 'acquire'): s.data = 2",
    ),
    "a compare-exchange that does not": (
        STORE.format("release"),
        NOTHING,
        "if not flag.compare_exchange(0, 2, 'acquire'): s.data = 2",
    ),
    "a lock": ("with lock: s.data = 1", "with lock: s.data = 2", "with lock: s.data"),
}
RACING = {
    "a relaxed store": (STORE.format("relaxed"), NOTHING, LOAD.format("acquire")),
    "a relaxed load": (STORE.format("release"), NOTHING, LOAD.format("relaxed")),
    "fences the wrong way round": (
        "s.data = 1; dpor.fence('acquire'); flag.store(1, 'relaxed')",
        NOTHING,
        "if flag.load('relaxed') == 1:\n            dpor.fence('release'); s.data",
    ),
    "a store after the release that is read": (
        "flag.store(1, 'release'); s.data = 1",
        NOTHING,
        LOAD.format("acquire"),
    ),
    "a store that ends a release sequence": (
        STORE.format("release"),
        "if flag.load('relaxed') == 1: flag.store(2, 'relaxed')",
        "if flag.load('acquire') == 2: s.data",
    ),
    "a release sequence without a release": (
        STORE.format("relaxed"),
        "flag.fetch_add(1, 'relaxed')",
        "if flag.load('acquire') == 2: s.data",
    ),
    "an old value": (STORE.format("release"), NOTHING, "if flag.load('acquire') == 0: s.data"),
    "a failed compare-exchange": (
        "s.data = 1; flag.compare_exchange(5, 1, 'release')",
        NOTHING,
        "flag.load('acquire'); s.data",
    ),
    "two locks": ("with lock: s.data = 1", NOTHING, "with threading.Lock(): s.data"),
    "an item": ("s.items[0] = 1; flag.store(1, 'relaxed')", NOTHING, "if flag.load('acquire'): s.items[0]"),
}


def check(folder: Path, case: tuple[str, str, str], partition: str) -> ModelResult:
    write, update, read = case
    file = folder / "model.py"
    file.write_text(HEADER.format(write=write, update=update, read=read), encoding="utf-8")
    options = {"algorithm": "graph", "memory_model": "rc11", "races": "error", "partition": partition}
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))


@pytest.mark.parametrize("partition", ["coherence", "rf"])
@pytest.mark.parametrize("name", ORDERED)
def test_what_is_ordered_does_not_race(tmp_path: Path, name: str, partition: str) -> None:
    assert check(tmp_path, ORDERED[name], partition).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("partition", ["coherence", "rf"])
@pytest.mark.parametrize("name", RACING)
def test_what_is_not_ordered_races(tmp_path: Path, name: str, partition: str) -> None:
    result = check(tmp_path, RACING[name], partition)
    (violation,) = result.violations
    assert violation.kind is ViolationKind.DATA_RACE
    file = str(tmp_path / "model.py")
    options = {"memory_model": "rc11", "races": "error"}
    request = ReplayRequest(file, "model", str(tmp_path), violation.schedule, options=options)
    replayed = replay_model(request)
    assert replayed.divergence is None
    assert replayed.violation is not None
    assert replayed.violation.message == violation.message
