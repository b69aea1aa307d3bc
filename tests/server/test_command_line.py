"""The command as people and scripts run it: a process with arguments, output and an exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

BANK = """\
import threading
import dpor


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.lock = threading.Lock()


def deposit(account, amount):
    account.balance += amount


def deposit_locked(account, amount):
    with account.lock:
        account.balance += amount


@dpor.model
def lost_update(clerks: int = 2):
    account = Account(0)
    for _ in range(clerks):
        dpor.spawn(deposit, account, 10)
    dpor.join_all()
    assert account.balance == 10 * clerks


@dpor.model
def locked_update(clerks: int = 2):
    account = Account(0)
    for _ in range(clerks):
        dpor.spawn(deposit_locked, account, 10)
    dpor.join_all()
    assert account.balance == 10 * clerks


@dpor.model(expect="violated")
def known_bug():
    lost_update_of = Account(0)
    dpor.spawn(deposit, lost_update_of, 10)
    dpor.spawn(deposit, lost_update_of, 10)
    dpor.join_all()
    assert lost_update_of.balance == 20
"""


@pytest.fixture
def bank(project: Path) -> Path:
    """A project with one file of three models: violated, verified, violated as expected."""
    (project / "bank.py").write_text(BANK)
    return project


def checked(run_command: Run, folder: Path, *words: str) -> dict[str, Any]:
    """Check with the JSON format; returns the models by name."""
    done = run_command(["--check", *words, "--format", "json"], folder)
    document = json.loads(done.stdout)
    assert document["exit_code"] == done.returncode, done.stderr
    return {model["id"].partition("::")[2] or model["id"]: model for model in document["models"]}


def test_help_shows_examples_and_exit_codes(run_command: Run, project: Path) -> None:
    done = run_command(["--help"], project)
    assert done.returncode == 0
    assert "dpor-lsp --check bank.py" in done.stdout
    assert "exit codes:" in done.stdout


def test_the_version_is_printed(run_command: Run, project: Path) -> None:
    done = run_command(["--version"], project)
    assert (done.returncode, done.stdout.startswith("dpor-lsp ")) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stdio", "--tcp", "127.0.0.1:0"], "DPOR105: --stdio and --tcp exclude each other"),
        (["--tcp", "2087"], "DPOR105: --tcp does not accept '2087' (write --tcp 127.0.0.1:2087)"),
        (["--tcp", "127.0.0.1:99999"], "DPOR105: --tcp does not accept '127.0.0.1:99999'"),
        (["--tcp", "203.0.113.1:0"], "DPOR105: --tcp does not listen on 203.0.113.1"),
        (["--tcp", "0.0.0.0:0"], "DPOR105: --tcp does not listen on 0.0.0.0"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused(
    run_command: Run, project: Path, words: list[str], message: str
) -> None:
    done = run_command(words, project)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [[], ["--stdio"]])
def test_the_language_server_ends_with_its_input(run_command: Run, project: Path, words: list[str]) -> None:
    done = run_command(words, project)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_usage_error_is_one_coded_line(run_command: Run, project: Path) -> None:
    done = run_command(["--check", "--algorithm", "optmal"], project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "dpor-lsp: DPOR105: --algorithm does not accept 'optmal' (did you mean 'optimal'?"
    )


def test_a_wrong_setting_of_the_project_is_a_usage_error(run_command: Run, bank: Path) -> None:
    (bank / "pyproject.toml").write_text("[tool.dpor]\ntimout = 3\n")
    done = run_command(["--check"], bank)
    assert done.returncode == 2
    assert (
        "DPOR105: pyproject.toml:1: [tool.dpor] has no key 'timout' (did you mean 'timeout'?" in done.stderr
    )


def test_listing_runs_nothing(run_command: Run, bank: Path) -> None:
    (bank / "bank.py").write_text(BANK + "\nraise SystemExit('was run')\n")
    done = run_command(["--list"], bank)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "bank.py::lost_update (clerks=2)",
        "bank.py::locked_update (clerks=2)",
        "bank.py::known_bug  [expect='violated']",
    ]
    listed = json.loads(run_command(["--list", "bank.py", "--format", "json"], bank).stdout)
    assert listed["models"][0] == {
        "id": "bank.py::lost_update",
        "file": "bank.py",
        "line": 21,
        "parameters": {"clerks": 2},
        "options": {},
    }


def test_a_parameter_that_no_model_has_is_refused(run_command: Run, bank: Path) -> None:
    done = run_command(["--check", "--set", "clerk=3"], bank)
    assert done.returncode == 2
    assert "DPOR106: none of the models has a parameter 'clerk' (did you mean 'clerks'?" in done.stderr


def test_a_cached_check_imports_little(bank: Path) -> None:
    code = (
        "import sys; from dpor_lsp.cli.command_line import main; main(['--check', 'missing.py']);"
        "heavy = {'rich', 'watchdog', 'jsonschema', 'subprocess', 'dpor.checking', 'asyncio',"
        " 'importlib.metadata', 'junitparser', 'greenlet', 'pygls', 'lsprotocol'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=bank, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "[]\n"


def test_verdicts_of_a_bank(run_command: Run, bank: Path) -> None:
    models = checked(run_command, bank)
    assert {name: model["verdict"] for name, model in models.items()} == {
        "lost_update": "violated",
        "locked_update": "verified",
        "known_bug": "violated",
    }
    assert models["locked_update"]["executions"] == 2
    assert models["lost_update"]["violations"][0]["code"] == "DPOR201"
    assert models["lost_update"]["violations"][0]["location"]["file"] == "bank.py"


def test_exit_codes(run_command: Run, bank: Path) -> None:
    assert run_command(["--check"], bank).returncode == 1
    assert run_command(["--check", "bank.py::locked_update", "bank.py::known_bug"], bank).returncode == 0
    assert run_command(["--check", "bank.py", "missing.py"], bank).returncode == 2
    bounded = ["--check", "bank.py::locked_update", "--max-executions", "1"]
    assert run_command(bounded, bank).returncode == 3


def test_the_second_check_is_cached_and_a_change_is_not(run_command: Run, bank: Path) -> None:
    assert not checked(run_command, bank)["locked_update"]["cached"]
    again = checked(run_command, bank)
    assert again["locked_update"]["cached"]
    assert again["lost_update"]["violations"]
    (bank / "bank.py").write_text(BANK.replace("10", "11"))
    assert not checked(run_command, bank)["locked_update"]["cached"]
    assert not checked(run_command, bank, "--no-cache")["locked_update"]["cached"]


def test_a_change_in_an_imported_module_invalidates(run_command: Run, project: Path) -> None:
    (project / "helper.py").write_text("def value():\n    return 1\n")
    (project / "m.py").write_text(
        "import dpor\nimport helper\n@dpor.model\ndef model():\n    assert helper.value() == 1\n"
    )
    assert checked(run_command, project)["model"]["verdict"] == "verified"
    (project / "helper.py").write_text("def value():\n    return 2\n")
    model = checked(run_command, project)["model"]
    assert (model["verdict"], model["cached"]) == ("violated", False)


def test_parameters_are_set(run_command: Run, bank: Path) -> None:
    model = checked(run_command, bank, "bank.py::locked_update", "--set", "clerks=3")["locked_update"]
    assert (model["parameters"], model["executions"]) == ({"clerks": 3}, 6)


def test_text_shows_the_counterexample(run_command: Run, bank: Path) -> None:
    done = run_command(["--check", "bank.py::lost_update"], bank)
    assert done.returncode == 1
    assert "✗ bank.py::lost_update (clerks=2)  violated" in done.stdout
    assert "account.balance += amount" in done.stdout
    assert "\x1b[" not in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("1 model: 1 violated")


def test_a_report_goes_to_a_file_whole(run_command: Run, bank: Path) -> None:
    done = run_command(["--check", "--format", "sarif", "--output", "out.sarif"], bank)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads((bank / "out.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert [item.name for item in bank.iterdir() if item.name.startswith(".out")] == []


def test_a_report_that_cannot_be_written_is_a_usage_error(run_command: Run, bank: Path) -> None:
    done = run_command(["--check", "--output", "no/such/folder/report.txt"], bank)
    assert done.returncode == 2
    assert "DPOR105: --output cannot write no/such/folder/report.txt" in done.stderr


def test_replaying_needs_no_schedule_after_a_check(run_command: Run, bank: Path) -> None:
    assert run_command(["--check", "bank.py::lost_update"], bank).returncode == 1
    done = run_command(["--replay", "bank.py::lost_update"], bank)
    assert done.returncode == 1, done.stderr
    assert "account.balance += amount" in done.stdout


def test_replaying_checks_first_if_it_must(run_command: Run, bank: Path) -> None:
    assert run_command(["--replay", "bank.py::lost_update"], bank).returncode == 1
    done = run_command(["--replay", "bank.py::locked_update"], bank)
    assert (done.returncode, "is verified" in done.stdout) == (0, True)


ADDING = """
import dpor

@dpor.model
def adding({parameter}):
    count = [0]
    def add():
        {body}
    for thread in [dpor.spawn(add) for _ in range(2)]:
        thread.join()
    assert count[0] == 2
"""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("seen = count[0]; seen += 0; count[0] = seen + 1", 1),
        ("count[0] = 2", 0),
    ],
)
def test_a_kept_counterexample_that_no_longer_fits_is_looked_for_anew(
    run_command: Run, project: Path, body: str, code: int
) -> None:
    model = project / "adding.py"
    model.write_text(ADDING.format(parameter="amount=1", body="count[0] += amount"))
    assert run_command(["--check", "adding.py"], project).returncode == 1
    # The kept one has a value for a parameter that there is no longer.
    model.write_text(ADDING.format(parameter="", body=body))
    done = run_command(["--replay", "adding.py::adding"], project)
    assert "the kept counterexample of adding.py::adding no longer fits" in done.stderr
    assert done.returncode == code, done.stderr


def test_a_schedule_of_a_report_replays_to_the_same_violation(run_command: Run, bank: Path) -> None:
    found = checked(run_command, bank)["lost_update"]["violations"][0]
    words = ["--replay", "bank.py::lost_update", "--schedule", found["schedule"], "--format", "json"]
    done = run_command(words, bank)
    replayed = json.loads(done.stdout)["replay"]
    assert (done.returncode, replayed["changed"], replayed["divergence"]) == (1, False, None)
    assert replayed["violation"]["message"] == found["message"]


def test_a_text_that_is_no_schedule_is_refused(run_command: Run, bank: Path) -> None:
    done = run_command(["--replay", "bank.py::lost_update", "--schedule", "nonsense"], bank)
    assert (done.returncode, "DPOR401" in done.stderr) == (2, True)


def test_a_schedule_of_another_model_is_refused(run_command: Run, bank: Path) -> None:
    schedule = checked(run_command, bank)["lost_update"]["violations"][0]["schedule"]
    done = run_command(["--replay", "bank.py::known_bug", "--schedule", schedule], bank)
    assert (done.returncode, "DPOR402" in done.stderr) == (2, True)


def test_replaying_needs_one_model(run_command: Run, bank: Path) -> None:
    done = run_command(["--replay", "bank.py"], bank)
    assert done.returncode == 2
    assert "--replay needs one model, and bank.py has 3" in done.stderr


# The C library is not seen, and so reaches the pipe that a model would be refused.
BUSY = (
    "import ctypes\nlibrary = ctypes.CDLL(None)\n"
    "library.write(library.open(os.fsencode({}), os.O_WRONLY), b'x', 1)\nturns = 0\nwhile True: turns += 1"
)


def model_of(body: str, decorator: str = "@dpor.model") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import dpor, os, sys\n{decorator}\ndef model():\n{lines}"


FAULTS = {
    "exit": (model_of("import ctypes\nctypes.CDLL(None)._exit(5)"), "DPOR111"),
    "crash": (model_of("import ctypes\nctypes.cast(8, ctypes.POINTER(ctypes.c_int))[0]"), "DPOR111"),
    "memory": (model_of("kept = []\nwhile True:\n    kept.append(bytearray(50_000_000))"), "DPOR112"),
    "hang": (model_of("x = 0\nwhile True:\n    x += 1", "@dpor.model(timeout=1)"), "DPOR304"),
    "syntax": ("import dpor\n@dpor.model\ndef model(:\n", "DPOR101"),
    "importing": ("import dpor\nimport no_such_module\n@dpor.model\ndef model(): pass\n", "DPOR102"),
    "leaving": ("import dpor, sys\nsys.exit(3)\n@dpor.model\ndef model(): pass\n", None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_one_result(run_command: Run, bank: Path, fault: str) -> None:
    source, code = FAULTS[fault]
    (bank / "fault.py").write_text(source)
    words = ["fault.py", "bank.py::locked_update", "--memory-limit", "512M"]
    models = checked(run_command, bank, *words)
    assert models.pop("locked_update")["verdict"] == "verified"
    (faulty,) = models.values()
    assert faulty["verdict"] == ("incomplete" if fault == "hang" else "error")
    if code is not None:
        assert faulty["reason"]["code"] == code
    assert faulty["reason"]["message"]


def test_a_hang_is_located_at_its_loop(run_command: Run, bank: Path) -> None:
    (bank / "fault.py").write_text(FAULTS["hang"][0])
    reason = checked(run_command, bank, "fault.py")["model"]["reason"]
    assert (reason["location"]["file"], reason["location"]["line"]) == ("fault.py", 5)


def test_a_hang_without_a_timeout_ends_too(run_command: Run, bank: Path) -> None:
    (bank / "fault.py").write_text(model_of("x = 0\nwhile True:\n    x += 1"))
    model = checked(run_command, bank, "fault.py", "--hang-timeout", "1")["model"]
    assert (model["verdict"], model["reason"]["code"]) == ("incomplete", "DPOR304")


PRINTING = """
import queue, threading, dpor

print("imported")

@dpor.model
def violated():
    print("begins")
    number = dpor.choose(range(3))
    print("number", number)
    assert number < 2
    print("ends")

@dpor.model
def begins_anew():
    print("begins")
    lines = queue.SimpleQueue()
    thread = threading.Thread(target=lines.put, args=(1,))
    thread.start()
    print(lines.get())
    thread.join()
    print(lines.qsize(), type(lines).__name__)
"""


def test_what_is_shown_of_prints_is_of_one_execution(run_command: Run, project: Path) -> None:
    (project / "prints.py").write_text(PRINTING)
    models = checked(run_command, project, "prints.py")
    assert {name: model["output"] for name, model in models.items()} == {
        "violated": "imported\nbegins\nnumber 2\n",
        "begins_anew": "imported\nbegins\n1\n0 SimpleQueue\n",
    }


def test_what_a_model_prints_stays_out_of_the_report(run_command: Run, bank: Path) -> None:
    message = '{"kind": "result"}\\n'
    body = (
        f"import ctypes\nprint('x' * 3_000_000)\nsys.stderr.write('{message}')\nctypes.CDLL(None).puts(b'C')"
    )
    (bank / "noisy.py").write_text(model_of(body))
    model = checked(run_command, bank, "noisy.py")["model"]
    assert model["verdict"] == "verified"
    assert "bytes left out" in model["output"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_reports_what_is_done_and_leaves_no_process(bank: Path, tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    body = BUSY.format(repr(str(held)))
    (bank / "fault.py").write_text(model_of(body))
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-m", "dpor_lsp", "--check", "bank.py::locked_update", "fault.py", "--jobs", "1"],
        cwd=bank,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    os.set_blocking(reader, True)
    wait_until_readable(reader)
    assert os.read(reader, 1) == b"x"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 3, errors
    assert "✓ bank.py::locked_update" in output
    assert "DPOR305" in output
    wait_until_readable(reader)
    assert os.read(reader, 1) == b""
    os.close(reader)


def wait_until_readable(descriptor: int) -> None:
    import select

    ready, _, _ = select.select([descriptor], [], [], 30)
    assert ready


def test_a_damaged_cache_is_a_warning(run_command: Run, bank: Path) -> None:
    assert run_command(["--check", "bank.py::locked_update"], bank).returncode == 0
    (file,) = (bank / ".dpor_cache").glob("*.sqlite3")
    file.write_bytes(b"rubbish" * 1000)
    done = run_command(["--check", "bank.py::locked_update"], bank)
    assert (done.returncode, "warning: DPOR501" in done.stderr) == (0, True)
    assert "verified" in done.stdout


def test_a_closed_pipe_ends_quietly(bank: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dpor_lsp", "--list"],
        cwd=bank,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.wait(30)
    process.stderr.close()
    assert b"Traceback" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_killed_command_leaves_no_worker(bank: Path, tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    body = BUSY.format(repr(str(held)))
    (bank / "fault.py").write_text(model_of(body))
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-m", "dpor_lsp", "--check", "fault.py"],
        cwd=bank,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until_readable(reader)
    assert os.read(reader, 1) == b"x"
    process.kill()
    process.wait(30)
    wait_until_readable(reader)
    assert os.read(reader, 1) == b""
    os.close(reader)
