"""The command amid closed streams, deleted folders, odd names, devices and small limits of the system."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("streams, links and limits are those of POSIX", allow_module_level=True)

MODELS = """\
import dpor


@dpor.model
def fails():
    assert False


@dpor.model
def innocent():
    pass
"""
CHECK = f"{sys.executable} -m dpor_lsp --check --no-cache --format json"


@pytest.fixture
def models(project: Path) -> Path:
    """A folder with a model that fails and an innocent one."""
    (project / "models.py").write_text(MODELS)
    return project


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the shell."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr
    return done


def assert_whole(report: str) -> None:
    """The report is valid and has both results."""
    verdicts = [one["verdict"] for one in json.loads(report)["models"]]
    assert verdicts == ["violated", "verified"]


@pytest.mark.parametrize("closed", ["0>&-", "1>&-", "2>&-", "0>&- 1>&-", "1>&- 2>&-", "0>&- 1>&- 2>&-"])
def test_a_report_is_written_whatever_streams_are_closed(models: Path, closed: str) -> None:
    assert shell(models, f"{CHECK} --output report.json {closed}").returncode == 1
    assert_whole((models / "report.json").read_text())


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
def test_the_report_stays_valid_without_standard_error(models: Path, closed: str) -> None:
    done = shell(models, f"{CHECK} no-such-file.py models.py {closed}")
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["models"]) == 3


@pytest.mark.parametrize("lost", [">&-", ">/dev/full"])
def test_a_report_that_nobody_gets_is_an_error(models: Path, lost: str) -> None:
    done = shell(models, f"{CHECK} {lost}")
    assert done.returncode == 2
    assert "DPOR105: the report cannot be written to standard output" in done.stderr


def test_a_deleted_working_folder_is_an_error_with_a_code(models: Path) -> None:
    done = shell(models, f"mkdir gone; cd gone; rmdir ../gone; {CHECK} {models}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "DPOR103: the current folder cannot be used" in done.stderr


@pytest.mark.parametrize("name", ["a" * 300, "a" * 300 + "/m.py", "b/" * 3000, "loop/m.py", "\udcff.py"])
def test_a_path_that_no_system_takes_costs_its_own_result(models: Path, name: str) -> None:
    (models / "loop").symlink_to("loop")
    command = [*CHECK.split(), name, "models.py"]
    done = subprocess.run(command, cwd=models, capture_output=True, timeout=120, check=False)
    first, *others = json.loads(done.stdout)["models"]
    assert (done.returncode, first["reason"]["code"]) == (2, "DPOR103")
    assert first["reason"]["fix"]
    assert [one["verdict"] for one in others] == ["violated", "verified"]


@pytest.mark.parametrize("form", ["json", "junit", "sarif", "text", "github"])
def test_a_name_of_a_file_need_not_be_text(models: Path, form: str) -> None:
    odd = models / os.fsdecode(b"odd\xff.py")
    odd.write_text(MODELS)
    command = [sys.executable, "-m", "dpor_lsp", "--check", "--format", form]
    for _ in range(2):
        done = subprocess.run(command, cwd=models, capture_output=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        assert "odd" in done.stdout.decode()


def test_a_report_replaces_the_file_at_the_end_of_a_link(models: Path) -> None:
    (models / "real.json").write_text("old")
    (models / "real.json").chmod(0o600)
    (models / "link").symlink_to("real.json")
    assert shell(models, f"{CHECK} --output link").returncode == 1
    assert_whole((models / "real.json").read_text())
    assert (models / "link").is_symlink()
    assert stat.S_IMODE((models / "real.json").stat().st_mode) == 0o600


def test_a_report_is_written_to_a_pipe_and_to_a_device(models: Path) -> None:
    pipe = models / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert shell(models, f"{CHECK} --output pipe").returncode == 1
    reader.join(timeout=60)
    assert_whole(read[0])
    (models / "nothing").symlink_to("/dev/full")
    assert "No space left on device" in shell(models, f"{CHECK} --output nothing").stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR((models / "nothing").stat().st_mode)


def test_a_report_to_the_device_of_standard_output_keeps_what_is_there(models: Path) -> None:
    shell(models, f"echo first > log; {CHECK} --output /dev/stdout >> log; echo last >> log")
    first, *report, last = (models / "log").read_text().splitlines()
    assert (first, last) == ("first", "last")
    assert_whole("\n".join(report))


@pytest.mark.parametrize("output", ["folder", "no/such", "loop", "/dev/full"])
def test_an_output_that_cannot_be_written_is_an_error_with_a_code(models: Path, output: str) -> None:
    (models / "folder").mkdir()
    (models / "loop").symlink_to("loop")
    before = sorted(models.iterdir())
    done = shell(models, f"{CHECK} --output {output}")
    assert (done.returncode, sorted(models.iterdir())) == (2, before)
    assert f"DPOR105: --output cannot write {output}" in done.stderr


@pytest.mark.parametrize("limit", ["-n 8", "-n 12", "-n 16", "-v 60000", "-v 180000"])
def test_a_limit_of_the_system_is_told_with_a_code(models: Path, limit: str) -> None:
    done = shell(models, f"ulimit {limit} && {CHECK}")
    assert done.returncode in (1, 2, 3)
    codes = [
        one["reason"]["code"]
        for one in json.loads(done.stdout or '{"models": []}')["models"]
        if one["reason"]
    ]
    assert "DPOR113" not in codes
    assert done.stdout or "DPOR119" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "--timeout 1e308",
        "--timeout nan",
        f"--timeout {'9' * 400}",
        f"--max-steps {2**64}",
        f"--k {10**20} --algorithm unfolding",
        "--seed -1",
        "--hang-timeout 1e308",
        f"--memory-limit {'9' * 400}G",
        f"--jobs {10**20}",
        "--solver-timeout 1e308",
    ],
)
def test_an_option_out_of_range_is_refused(models: Path, words: str) -> None:
    done = shell(models, f"{CHECK} {words}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "DPOR105" in done.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"timeout = {'9' * 400}", "DPOR105"),
        (f"timeout = {'9' * 6000}", "DPOR101"),
        (f"timeout = 0x{'f' * 6000}", "DPOR105"),
        (f"exclude = {'[' * 5000}{']' * 5000}", "DPOR101"),
        ("max_steps = 18446744073709551616", "DPOR105"),
        ("memory_limit = [1]", "DPOR105"),
        ("algorithm = {}", "DPOR105"),
    ],
)
def test_a_setting_that_is_not_accepted_is_an_error_with_a_place(models: Path, line: str, code: str) -> None:
    (models / "pyproject.toml").write_text(f"[tool.dpor]\n{line}\n")
    done = shell(models, CHECK)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{code}: pyproject.toml:" in done.stderr
