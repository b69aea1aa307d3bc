"""Neovim and Emacs show the diagnostic and offer the actions through plain LSP."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ACTIONS = [
    "action Replay the counterexample of opposite_transfers",
    "action Show the schedule of opposite_transfers",
    "action Pin the counterexample of opposite_transfers as a pytest test",
]
BANK = """\
import threading

import dpor


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.lock = threading.Lock()


def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            source.balance -= amount
            target.balance += amount


@dpor.model
def opposite_transfers():
    a, b = Account(100), Account(100)
    dpor.spawn(transfer, a, b, 30)
    dpor.spawn(transfer, b, a, 50)
    dpor.join_all()
    assert a.balance + b.balance == 200
"""


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "bank.py").write_text(BANK)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def run(words: list[str], folder: Path, tmp_path: Path) -> list[str]:
    report = tmp_path / "report"
    (tmp_path / ".emacs.d").mkdir()
    environment = {
        **os.environ,
        "DPOR_PYTHON": sys.executable,
        "DPOR_REPORT": str(report),
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert report.exists(), done.stdout + done.stderr
    return report.read_text().splitlines()


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_the_diagnostic_and_its_action_pins_a_test(bank: Path, tmp_path: Path) -> None:
    script = HERE / "neovim" / "check.lua"
    lines = run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {script}"], bank, tmp_path)
    assert lines[:2] == [
        "diagnostic 13:8 opposite_transfers: deadlock: 3 threads wait for ever (lock-order inversion)",
        "diagnostic 23:4 opposite_transfers: deadlock: main waits for the end of main.0 (line 24)",
    ]
    assert lines[2:5] == ACTIONS
    assert "dpor.replay(opposite_transfers" in (bank / "test_bank_schedules.py").read_text()


def has_eglot() -> bool:
    if shutil.which("emacs") is None:
        return False
    words = ["emacs", "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.skipif(not has_eglot(), reason="Emacs with eglot is not installed")
def test_eglot_shows_the_diagnostic_and_offers_the_actions(bank: Path, tmp_path: Path) -> None:
    lines = run(["emacs", "--batch", "-l", str(HERE / "emacs" / "check.el")], bank, tmp_path)
    first = "opposite_transfers: deadlock: 3 threads wait for ever (lock-order inversion)"
    # Newer versions of eglot put source and code in front.
    assert lines[0] in (f"diagnostic 13 {first}", f"diagnostic 13 dpor [DPOR203]: {first}")
    assert [line for line in lines if line.startswith("action ")][:3] == ACTIONS
