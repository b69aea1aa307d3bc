"""The text reports, against goldens, and at every width."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dpor.codes import Code
from dpor.counterexample.layout import cells, wrap
from dpor.counterexample.minimize import context_switches, cost, summary
from dpor.counterexample.schedule import Schedule, encode
from dpor.counterexample.text import render, render_replay, replay_command
from dpor.results import (
    Pattern,
    ReplayResult,
    SourceSpan,
    TraceStep,
    Violation,
    ViolationKind,
    WaitingThread,
)

SOURCE = """\
import dpor

class Account:
    def deposit(self, amount):
        balance = self.balance
        self.balance = balance + amount

def transfer(source, target):
    with source.lock:
        with target.lock:
            pass

def wide(konto):
    konto.名前 = "残高は百円です、残高は百円です、残高は百円です"

@dpor.model
def deposits():
    account = Account(100)
    assert account.balance == 150
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "bank.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def at(line: int, file: str = "bank.py") -> SourceSpan:
    return SourceSpan(file, line, 9)


def step(
    number: int, thread: str, operation: str, target: str | None, value: str | None, line: int, **more: Any
):
    return TraceStep(number, thread, operation, target, value, at(line), **more)


def schedule(model: str = "bank.py::deposits") -> str:
    return encode(Schedule(model, ()))


BALANCE = "Account#1.balance"
LOST_UPDATE = Violation(
    kind=ViolationKind.ASSERTION,
    code=Code.ASSERTION,
    message="assertion failed: account.balance == 150",
    location=at(19),
    schedule=schedule(),
    trace=(
        step(1, "main", "store", BALANCE, "100", 18, matters=False),
        step(2, "main", "spawn", "main.0", None, 18, matters=False),
        TraceStep(3, "main.0", "start", "main.0", None, None, matters=False),
        step(4, "main.0", "load", BALANCE, "100", 5),
        step(5, "main.1", "load", BALANCE, "100", 5),
        step(6, "main.1", "store", BALANCE, "130", 6),
        step(7, "main.0", "store", BALANCE, "120", 6),
        step(8, "main", "load", BALANCE, "120", 19),
    ),
    thread="main",
    pattern=Pattern.LOST_UPDATE,
)
A, B = "Account#1.lock", "Account#2.lock"
DEADLOCK = Violation(
    kind=ViolationKind.DEADLOCK,
    code=Code.DEADLOCK,
    message="two threads wait for each other",
    location=at(10),
    schedule=schedule(),
    trace=(
        step(1, "main", "spawn", "clerk", "main.0", 18, matters=False),
        step(2, "main.0", "acquire", A, None, 9),
        step(3, "main.1", "acquire", B, None, 9),
    ),
    thread="main.0",
    pattern=Pattern.LOCK_ORDER_INVERSION,
    waiting=(
        WaitingThread("main", "join", "clerk", at(18), (), "main.0"),
        WaitingThread("main.0", "acquire", B, at(10), (A,), "main.1"),
        WaitingThread("main.1", "acquire", A, at(10), (B,), "main.0"),
    ),
)
WIDE = Violation(
    kind=ViolationKind.EXCEPTION,
    code=Code.EXCEPTION,
    message="ValueError: 残高は百円です\tand\x1b[31m more",
    location=at(14),
    schedule=schedule(),
    trace=(
        step(1, "main.0", "store", "Konto#1.名前", "'残高は百円です、残高は百円です'", 14),
        step(2, "main.1", "store", "Konto#1.名前", "'残高は百円です、残高は百円です'", 14),
    ),
    thread="main.1",
)
PACKAGE = Violation(
    kind=ViolationKind.EXCEPTION,
    code=Code.EXCEPTION,
    message="KeyError: 'x'",
    location=at(5),
    schedule=schedule(),
    trace=(
        TraceStep(
            1,
            "main.0",
            "contains",
            "Cache#1.data['x']",
            "True",
            at(70, "/lib/cachetools/__init__.py"),
            call_site=at(5),
        ),
        TraceStep(
            2,
            "main.1",
            "call",
            "Cache#1.data.pop()",
            "1",
            at(80, "/lib/cachetools/__init__.py"),
            call_site=at(6),
        ),
    ),
    thread="main.0",
)
EVERY = {"lost update": LOST_UPDATE, "deadlock": DEADLOCK, "wide": WIDE, "package": PACKAGE}


def body(text: str) -> str:
    """A report without the schedule's text, which the compression library may vary."""
    return re.sub(r"(?m)^  dpor1:.*$", "  dpor1:...", text)


def test_the_interleaving_is_shown_in_one_column_a_thread(root: Path):
    expected = """\
bank.py:19: DPOR201 assertion (lost update)
  assertion failed: account.balance == 150

     │ main                          │ main.0                        │ main.1
─────┼───────────────────────────────┼───────────────────────────────┼───────────────────────────────
     ┃ … 2 steps                     │                               │
     │                               │                               │
   5 │                               ┃ balance = self.balance        │
     │                               ┃   Account#1.balance = 100     │
     │                               │                               │
   5 │                               │                               ┃ balance = self.balance
     │                               │                               ┃   Account#1.balance = 100
   6 │                               │                               ┃ self.balance = balance +
     │                               │                               ┃     amount
     │                               │                               ┃   Account#1.balance ← 130
     │                               │                               │
   6 │                               ┃ self.balance = balance +      │
     │                               ┃     amount                    │
     │                               ┃   Account#1.balance ← 120     │
     │                               │                               │
✗ 19 ┃ assert account.balance == 150 │                               │
     ┃   Account#1.balance = 120     │                               │

Schedule
  dpor1:...
Replay
  dpor-lsp --replay bank.py::deposits
"""
    text = body(render(LOST_UPDATE, width=102, color=False, root=root))
    assert [line.rstrip() for line in text.splitlines()] == expected.splitlines()


def test_a_narrow_terminal_gets_one_list(root: Path):
    expected = """\
bank.py:19: DPOR201 assertion (lost update)
  assertion failed: account.balance == 150

     [main] … 2 steps
   5 [main.0] balance = self.balance
         Account#1.balance = 100
   5 [main.1] balance = self.balance
         Account#1.balance = 100
   6 [main.1] self.balance = balance +
         amount
         Account#1.balance ← 130
   6 [main.0] self.balance = balance +
         amount
         Account#1.balance ← 120
✗ 19 [main] assert account.balance == 150
         Account#1.balance = 120
"""
    text = render(LOST_UPDATE, width=44, color=False, root=root)
    assert text.startswith(expected)


def test_a_deadlock_names_the_cycle_and_what_each_thread_holds(root: Path):
    expected = """\
bank.py:10: DPOR203 deadlock (lock-order inversion)
  two threads wait for each other

main.0 and main.1 wait for each other for ever:
  main.0 → Account#2.lock → main.1 → Account#1.lock → main.0
  main.0 holds Account#1.lock and waits for Account#2.lock, held by main.1 (line 10)
  main.1 holds Account#2.lock and waits for Account#1.lock, held by main.0 (line 10)
  main waits for the end of clerk (line 18)

     │ clerk (main.0)                              │ main.1
─────┼─────────────────────────────────────────────┼─────────────────────────────────────────────
   9 ┃ with source.lock:                           │
     ┃   acquires Account#1.lock                   │
     │                                             │
   9 │                                             ┃ with source.lock:
     │                                             ┃   acquires Account#2.lock
     │                                             │
✗ 10 ┃ with target.lock:                           │
     ┃   waits for Account#2.lock, held by main.1  │
     │                                             │
✗ 10 │                                             ┃ with target.lock:
     │                                             ┃   waits for Account#1.lock, held by main.0
"""
    text = render(DEADLOCK, width=98, color=False, root=root)
    assert [line.rstrip() for line in text.splitlines()][:22] == expected.splitlines()


def test_the_inner_place_of_a_package_is_shown_below_the_call(root: Path):
    text = render(PACKAGE, width=90, color=False, root=root)
    assert "↳ cachetools/__init__.py:70" in text
    assert "finds Cache#1.data['x']" in text


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_wider_than_the_terminal(root: Path, name: str, color: bool):
    replayed = ReplayResult(EVERY[name], EVERY[name].trace, True, "step 1: the model now does something else")
    for width in [*range(20, 130, 7), 200]:
        for text in (
            render(EVERY[name], width=width, color=color, root=root),
            render_replay(replayed, width=width, color=color, root=root),
        ):
            for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines():
                assert cells(line) <= width, line


def test_colour_changes_nothing_but_colour(root: Path):
    plain = render(LOST_UPDATE, width=100, color=False, root=root)
    colored = render(LOST_UPDATE, width=100, color=True, root=root)
    assert "\x1b[" not in plain
    assert "\x1b[" in colored
    stripped = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in stripped.splitlines()] == [line.rstrip() for line in plain.splitlines()]


def test_control_characters_never_reach_the_terminal(root: Path):
    assert "\x1b" not in render(WIDE, width=80, color=False, root=root)


def test_a_report_needs_no_source_file(tmp_path: Path):
    text = render(LOST_UPDATE, width=100, color=False, root=tmp_path)
    assert "Account#1.balance ← 130" in text


def test_the_replay_command_names_the_model_and_carries_a_short_schedule(root: Path):
    assert (
        replay_command(LOST_UPDATE)
        == f"dpor-lsp --replay bank.py::deposits --schedule {LOST_UPDATE.schedule}"
    )
    assert replay_command(LOST_UPDATE, 40) == "dpor-lsp --replay bank.py::deposits"


def test_the_replay_command_has_the_path_of_a_model_in_a_folder():
    moved = Violation(
        ViolationKind.ASSERTION, Code.ASSERTION, "", SourceSpan("models/bank.py", 1), schedule()
    )
    assert str(replay_command(moved)).startswith("dpor-lsp --replay models/bank.py::deposits")


def test_a_replay_lists_every_step_with_its_number(root: Path):
    result = ReplayResult(None, LOST_UPDATE.trace, changed=True)
    lines = render_replay(result, width=100, color=False, root=root).splitlines()
    assert lines[0] == "1  main    writes Account#1.balance ← 100  bank.py:18"
    assert lines[7] == "8  main    reads Account#1.balance = 120   bank.py:19"
    assert "The model's code has changed since the schedule was made." in lines
    assert lines[-1] == "Nothing broke: on this schedule the model holds."


def test_a_replay_that_diverged_says_where_and_claims_nothing(root: Path):
    result = ReplayResult(None, LOST_UPDATE.trace[:2], True, "step 3: the execution has ended")
    text = render_replay(result, width=100, color=False, root=root)
    assert "DPOR403 The replay diverged at step 3: the execution has ended" in text
    assert "holds" not in text


def test_a_replay_that_still_breaks_shows_the_violation(root: Path):
    text = render_replay(ReplayResult(LOST_UPDATE, LOST_UPDATE.trace), width=100, color=False, root=root)
    assert "The schedule still breaks the model:" in text
    assert "DPOR201 assertion (lost update)" in text


def test_the_summary_of_a_lost_update_is_the_stale_read_and_the_two_writes():
    assert summary(LOST_UPDATE) == [
        "main.0 reads Account#1.balance = 100 (line 5)",
        "main.1 writes Account#1.balance ← 130 (line 6)",
        "main.0 writes Account#1.balance ← 120 (line 6)",
    ]


def test_the_summary_of_a_deadlock_is_who_waits_for_whom():
    lines = summary(DEADLOCK)
    assert lines[0] == ("main.0 holds Account#1.lock and waits for Account#2.lock, held by main.1 (line 10)")
    assert len(lines) <= 3


def test_context_switches_and_steps_are_what_a_counterexample_costs():
    assert context_switches(LOST_UPDATE.trace) == 4
    assert cost(LOST_UPDATE.trace) == (4, 8)
    assert cost(()) == (0, 0)


@pytest.mark.parametrize("width", range(1, 12))
def test_wrapping_loses_nothing_and_never_overflows(width: int):
    text = "残高 は百円です and some words"
    lines = wrap(text, width)
    assert all(cells(line) <= max(width, 2) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
