"""What threads can find in files, and what is left of them: by hand, and by all orders of single calls."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import outside_sink
import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

INCREMENTS = {
    "open": 'write("n", str(int(read("n")) + 1))',
    "pathlib": 'Path("n").write_text(str(int(Path("n").read_text()) + 1))',
    "replace": (
        'mine = f"n{threading.get_ident()}"\nwrite(mine, str(int(read("n")) + 1))\nos.replace(mine, "n")'
    ),
    "rename in a folder": (
        'number = int(os.listdir("numbers")[0])\nos.rename(f"numbers/{number}", f"numbers/{number + 1}")'
    ),
    "environment": 'os.environ["N"] = str(int(os.environ["N"]) + 1)',
    "database": (
        'number = DATABASE.execute("select n from t").fetchone()[0]\n'
        'DATABASE.execute("update t set n = ?", (number + 1,))'
    ),
    "temporary files": (
        'file, name = tempfile.mkstemp(dir=".")\nos.write(file, str(int(read("n")) + 1).encode())\nos.close(file)\n'
        'shutil.move(name, "n")'
    ),
    "one file object": (
        "SHARED.seek(0)\nnumber = int(SHARED.read())\nSHARED.seek(0)\nSHARED.write(str(number + 1))\nSHARED.flush()"
    ),
    "one descriptor": (
        "number = int(os.pread(NUMBER, 9, 0))\nos.pwrite(NUMBER, str(number + 1).encode(), 0)"
    ),
}
# Six calls in each thread: thousands of orders.
LONG = ("database", "one file object")
BEFORE = """
write("n", "0")
os.makedirs("numbers")
write("numbers/0", "")
os.environ["N"] = "0"
DATABASE = sqlite3.connect("n.db", isolation_level=None, check_same_thread=False)
DATABASE.execute("create table t (n)")
DATABASE.execute("insert into t values (0)")
SHARED = open("n", "r+")
NUMBER = os.open("n", os.O_RDWR)
"""
FINAL = """(read("n"), tuple(os.listdir("numbers")), os.environ["N"],
        DATABASE.execute("select n from t").fetchone()[0])"""


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.long] if way in LONG else []) for way in INCREMENTS]
)
def test_an_increment_in_two_steps_can_be_lost_and_in_one_execution_alone(
    way: str, check: Callable[..., Any]
) -> None:
    setup = "def prepare():\n    global DATABASE, SHARED, NUMBER\n" + "".join(
        f"    {line}\n" for line in BEFORE.splitlines()
    )
    start = "prepare()"
    first = f"{INCREMENTS[way]}"
    found, _ = check(first, first, FINAL, before=setup, begin=start)
    changed = {str(value) for _, finals in found for value in map(_number, finals)}
    assert changed >= {"1", "2"}
    # Who writes where another one has just written, through one file object, writes behind it.
    assert changed <= {"0", "1", "2", "", "11"}


@pytest.mark.parametrize("call", ["flush()", "seek(0)", "close()", "read()"])
def test_what_one_thread_leaves_in_a_buffer_another_one_can_write_to_the_file(
    call: str, check: Callable[..., Any]
) -> None:
    setup = 'def prepare():\n    global FIRST, SECOND\n    FIRST = open("n", "w+")\n    SECOND = open("n", "w+")\n'
    second = 'FIRST.write("bc")\nSECOND.truncate(1)'
    found, _ = check(f"FIRST.{call}", second, '(FIRST.close(), read("n"))', before=setup, begin="prepare()")
    assert {"b", "bc"} <= {finals[1] for _, finals in found}


def _number(value: Any) -> Any:
    # What a listed folder has is its one name.
    return "".join(map(str, cast("tuple[str, ...]", value))) if isinstance(value, tuple) else value


def outcomes(
    check: Callable[..., Any], first: str, second: str, final: str = "None", **more: Any
) -> set[Any]:
    found, _ = check(first, second, final, **more)
    return {results for results, _ in found}


def test_what_is_in_a_buffer_is_seen_when_it_is_flushed(check: Callable[..., Any]) -> None:
    found = outcomes(
        check, 'with open("a", "w") as file:\n    file.write("x")\n    file.write("y")', 'read("a")'
    )
    assert found == {(None, "one"), (None, ""), (None, "xy")}


def test_a_line_buffer_and_no_buffer_are_written_at_once(check: Callable[..., Any]) -> None:
    lines = 'file = open("a", "w", buffering=1)\nfile.write("x\\n")\nfile.write("y\\n")\nfile.close()'
    assert outcomes(check, lines, 'read("a")') == {(None, text) for text in ("one", "", "x\n", "x\ny\n")}
    raw = 'file = open("a", "wb", buffering=0)\nfile.write(b"x")\nfile.write(b"y")\nfile.close()'
    assert outcomes(check, raw, 'read("a")') == {(None, text) for text in ("one", "", "x", "xy")}


def test_a_file_that_nobody_closes_is_written_when_the_last_reference_ends(check: Callable[..., Any]) -> None:
    found = outcomes(check, 'open("a", "w").write("x")', 'read("a")')
    assert {text for _, text in found} == {"one", "", "x"}


def test_who_has_a_file_open_goes_on_with_it_after_it_was_replaced_or_removed(
    check: Callable[..., Any],
) -> None:
    reading = 'file = open("a")\nfirst = file.read(1)\nreturn first + file.read()'
    assert outcomes(check, 'os.unlink("a")', reading) == {(None, "one"), (None, "FileNotFoundError")}
    assert outcomes(check, 'os.replace("b", "a")', reading) == {(None, "one"), (None, "two")}


def test_who_has_a_file_open_sees_what_others_write_into_it(check: Callable[..., Any]) -> None:
    reading = (
        'file = open("a", "rb", buffering=0)\nfirst = file.read(1)\nreturn (first + file.read()).decode()'
    )
    writing = 'number = os.open("a", os.O_WRONLY)\nos.write(number, b"ONE")\nos.close(number)'
    assert outcomes(check, writing, reading) == {(None, "one"), (None, "oNE"), (None, "ONE")}


def test_threads_that_share_a_file_object_share_its_position(check: Callable[..., Any]) -> None:
    prepare = 'def prepare():\n    global SHARED\n    SHARED = open("a")'
    found = outcomes(check, "SHARED.read(1)", "SHARED.read(2)", before=prepare, begin="prepare()")
    assert found == {("o", "ne"), ("e", "on")}


def test_a_closed_file_object_is_closed_for_all(check: Callable[..., Any]) -> None:
    prepare = 'def prepare():\n    global SHARED\n    SHARED = open("a")'
    found = outcomes(check, "SHARED.close()", "SHARED.closed", before=prepare, begin="prepare()")
    assert found == {(None, False), (None, True)}
    found = outcomes(check, "SHARED.close()", "SHARED.read()", before=prepare, begin="prepare()")
    assert found == {(None, "one"), (None, "ValueError")}


def test_a_file_that_appends_writes_where_the_file_ends(check: Callable[..., Any]) -> None:
    append = 'write("a", {!r}, "a")'
    found, _ = check(append.format("x"), append.format("y"), 'read("a")')
    assert {final for _, final in found} == {"onexy", "oneyx"}


def test_different_files_of_one_folder_need_one_execution(check: Callable[..., Any]) -> None:
    _, result = check('write("x", "1")\nreturn read("x")', 'write("y", "1")\nreturn read("y")', "None")
    assert result.executions == 1


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="only Linux has files without a name")
def test_a_file_without_a_name_is_nobody_elses(check: Callable[..., Any]) -> None:
    use = (
        'with tempfile.TemporaryFile("w+", dir=".") as file:\n'
        "    file.write({!r})\n    file.seek(0)\n    return file.read(), len(os.listdir('.'))"
    )
    entries = 'len(os.listdir("."))'
    found, result = check(use.format("x"), use.format("y"), entries)
    ((results, count),) = found
    assert results == (("x", count), ("y", count))
    assert result.executions == 1
    found, _ = check('tempfile.TemporaryFile(dir="none")', 'os.open("a", os.O_TMPFILE | os.O_RDWR)', "None")
    assert {results for results, _ in found} == {("FileNotFoundError", "NotADirectoryError")}


def test_a_loop_that_looks_for_a_file_ends(check: Callable[..., Any]) -> None:
    waiting = 'while not os.path.exists("new"):\n    pass\nreturn os.path.getsize("new")'
    found, result = check(waiting, 'write("part", "whole")\nos.rename("part", "new")', "None")
    assert result.verdict is Verdict.VERIFIED
    assert {results for results, _ in found} == {(5, None)}


def test_what_modules_write_when_they_are_imported_is_there_in_every_execution(
    check: Callable[..., Any], folder: Path
) -> None:
    before = f'os.chdir({str(folder)!r})\nwrite("made", "0")\nos.environ["DPOR_MADE"] = "0"'
    found, _ = check('write("made", "1")', 'os.environ["DPOR_MADE"] + read("made")', "None", before=before)
    assert {results for results, _ in found} == {(None, "00"), (None, "0"), (None, "01")}
    assert "DPOR_MADE" not in os.environ


def test_a_file_that_a_module_keeps_open_is_opened_afresh_for_each_execution(
    check: Callable[..., Any], folder: Path
) -> None:
    before = f"KEPT = open({str(folder / 'a')!r})"
    assert outcomes(check, "KEPT.read(1)", "KEPT.read(1)", before=before) == {("o", "n"), ("n", "o")}


def test_a_read_file_is_said_and_a_result_depends_on_it(check: Callable[..., Any], folder: Path) -> None:
    _, result = check('read("a")', 'os.path.exists("nothing")', "None")
    assert _fixed(result) == ["the file a"]
    assert {str(folder / "a"), str(folder / "nothing")} <= set(result.dependencies)
    _, result = check('write("a", "x")\nreturn read("a")', 'write("b", "")', "None")
    assert _fixed(result) == []


def _fixed(result: ModelResult) -> list[str]:
    return [one.subject for one in result.assumptions if one.kind is AssumptionKind.FIXED_WORLD]


REFUSED = {
    "fcntl.lockf(os.open('a', os.O_RDWR), fcntl.LOCK_EX)": "locks a file",
    "mmap.mmap(os.open('a', os.O_RDWR), 0)": "maps a file into memory",
    "os.mkfifo('pipe')": "makes a pipe",
    "os.pipe()": "makes a pipe",
    "os.eventfd(0)": "a function of the system that is not modelled (os.eventfd)",
    "os.nice(0)": "a function of the system that is not modelled (os.nice)",
    "os._exit(0)": "ends the process",
    "os.listdir(0)": "a descriptor that the model has not opened",
    "open(f'/proc/self/fd/{os.open(\"a\", os.O_RDONLY)}')": "leads to a file without its name",
    "open(os.readlink(f'/proc/self/fd/{os.open(\"new\", os.O_CREAT)}'))": "the check keeps its copies",
    "os.dup2(os.open('a', os.O_RDONLY), 1)": "replaces a descriptor",
    "open('/dev/tty')": "device or pipe",
    "open(os.__file__, 'a')": "installed file",
    "dpor.wait_until(lambda: os.path.exists('a'))": "in a predicate of wait_until",
    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))": "reaches outside of the interpreter",
}


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            call,
            marks=pytest.mark.skipif("/proc" in call and sys.platform != "linux", reason="only Linux has it"),
        )
        for call in REFUSED
    ],
)
def test_what_cannot_be_seen_is_refused(call: str, check: Callable[..., Any]) -> None:
    with pytest.raises(DporError) as caught:
        check(call, "None", "None", before="import fcntl, mmap, resource")
    assert caught.value.code is Code.UNCONTROLLED
    assert REFUSED[call] in str(caught.value)


def test_a_second_name_that_a_file_gets_in_the_import_is_refused(tmp_path: Path) -> None:
    (tmp_path / "linked.py").write_text(
        "import os, tempfile, dpor\nFOLDER = tempfile.mkdtemp()\nopen(FOLDER + '/a', 'w').close()\n"
        "os.link(FOLDER + '/a', FOLDER + '/b')\n\n@dpor.model\ndef model():\n    pass\n"
    )
    with pytest.raises(DporError, match="a second name"):
        check_model(CheckRequest("linked.py", "model", str(tmp_path)))


def test_to_rename_a_file_to_another_name_of_it_leaves_both_names(tmp_path: Path) -> None:
    (tmp_path / "renamed.py").write_text(
        "import os, tempfile, dpor\n\n@dpor.model\ndef model():\n    os.chdir(tempfile.mkdtemp())\n"
        "    os.close(os.open('a', os.O_CREAT))\n    os.link('a', 'b')\n    os.rename('a', 'b')\n"
        "    def write():\n        with open('a', 'w') as file:\n            file.write('x')\n"
        "    dpor.spawn(write)\n    assert os.path.getsize('b') == 0\n"
    )
    result = check_model(CheckRequest("renamed.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED


def test_what_the_checker_keeps_in_a_file_object_is_no_data_race(tmp_path: Path) -> None:
    (tmp_path / "synced.py").write_text(
        "import os, tempfile, dpor\n\n@dpor.model(races='error')\ndef model():\n"
        "    os.chdir(tempfile.mkdtemp())\n    open('a', 'w').close()\n"
        "    def sync():\n        file = open('a')\n        file.fileno()\n        os.fsync(file)\n"
        "    dpor.spawn(sync)\n    dpor.join_all()\n"
    )
    result = check_model(CheckRequest("synced.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED


def test_connections_that_would_wait_for_each_other_are_refused(check: Callable[..., Any]) -> None:
    update = 'connection = sqlite3.connect("n.db")\nconnection.execute("update t set n = n + 1")\nconnection.commit()'
    setup = "def prepare():\n    global DATABASE, SHARED, NUMBER\n" + "".join(
        f"    {line}\n" for line in BEFORE.splitlines()
    )
    with pytest.raises(DporError, match="another connection has locked"):
        check(update, update, "None", before=setup, begin="prepare()")


def test_a_thread_whose_target_is_a_system_call_is_seen_and_changes_no_file(
    check: Callable[..., Any], folder: Path
) -> None:
    start = 'thread = threading.Thread(target=os.mkdir, args=("made",))\nthread.start()\nthread.join()'
    found, _ = check(start, 'os.path.exists("made")', 'os.path.exists("made")')
    assert found == {((None, False), True), ((None, True), True)}
    spawn = 'dpor.spawn(os.rename, "a", "made").join()'
    found, _ = check(spawn, 'os.path.exists("made")', 'os.path.exists("made")')
    assert found == {((None, False), True), ((None, True), True)}


def test_a_process_that_is_killed_leaves_the_files_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    model = tmp_path / "killed.py"
    model.write_text(
        "import ctypes, dpor\n\n@dpor.model\ndef model():\n"
        f"    open({str(tmp_path / 'new')!r}, 'w').write('x')\n    ctypes.CDLL(None)._exit(9)\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = (
        "from dpor.checking import check_model\nfrom dpor.results import CheckRequest\n"
        f"check_model(CheckRequest('killed.py', 'model', {str(tmp_path)!r}))"
    )
    variables = {**os.environ, "TMPDIR": str(scratch)}
    ended = subprocess.run([sys.executable, "-c", script], env=variables, check=False)
    assert ended.returncode == 9
    assert not (tmp_path / "new").exists()
    assert len(list(scratch.iterdir())) == 1
    model.write_text(model.read_text().replace("ctypes.CDLL(None)._exit(9)", "pass"))
    ended = subprocess.run([sys.executable, "-c", script], env=variables, check=False)
    assert ended.returncode == 0
    assert not (tmp_path / "new").exists()
    assert list(scratch.iterdir()) == []


def test_a_violation_in_files_is_shown_and_can_be_replayed(tmp_path: Path) -> None:
    (tmp_path / "lost.py").write_text(
        "import os, threading, dpor\n\n@dpor.model\ndef model():\n"
        f"    os.chdir({str(tmp_path)!r})\n    open('n', 'w').write('0')\n"
        "    def add():\n        n = int(open('n').read())\n        open('n', 'w').write(str(n + 1))\n"
        "    first, second = threading.Thread(target=add), threading.Thread(target=add)\n"
        "    first.start(); second.start(); first.join(); second.join()\n    assert open('n').read() == '2'\n"
    )
    outside_sink.take()
    result = check_model(CheckRequest("lost.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED
    assert {"open('n', 'r')", "open('n', 'w')"} <= {step.target for step in result.violations[0].trace}
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize("algorithm", ["optimal", "source", "graph", "concolic", "parsimonious", "unfolding"])
@pytest.mark.parametrize("loser", [0, 1])
def test_every_algorithm_lets_either_call_come_too_late(tmp_path: Path, algorithm: str, loser: int) -> None:
    path = tmp_path / "model.py"
    path.write_text(f"""
import os, tempfile, dpor

@dpor.model(algorithm={algorithm!r})
def model():
    folder = tempfile.mkdtemp()
    late = [False, False]

    def make(number):
        try:
            os.mkdir(os.path.join(folder, "made"))
        except FileExistsError:
            late[number] = True

    dpor.join_all([dpor.spawn(make, number) for number in range(2)])
    assert not late[{loser}]
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("variable", ["TMPDIR", "TEMP"])
def test_the_folder_for_temporary_files_is_found_without_a_file_that_a_kill_would_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    path = tmp_path / "model.py"
    path.write_text(f"""
import tempfile, dpor

@dpor.model
def model():
    assert tempfile.gettempdir() == {str(folder)!r}
""")

    def write_a_file() -> str:
        raise AssertionError("wrote a file to find out")

    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setenv(variable, str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", write_a_file)
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    "module", ["written.py", "written/__init__.py", "written/part.py", "folder/written.py", "existing.py"]
)
def test_a_module_that_the_model_has_written_is_not_imported_as_if_it_were_not_there(
    tmp_path: Path, module: str
) -> None:
    (tmp_path / "existing.py").write_text("VALUE = 1\n")
    name = {"written/part.py": "written.part", "existing.py": "existing"}.get(module, "written")
    path = tmp_path / "model.py"
    path.write_text(f"""
import os, sys, dpor

@dpor.model
def model():
    folder = {str(tmp_path / "new")!r} if {module!r} != "existing.py" else {str(tmp_path)!r}
    file = os.path.join(folder, {module!r})
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w") as stream:
        stream.write("VALUE = 5")
    sys.path.insert(0, os.path.dirname(file) if {module!r} == "folder/written.py" else folder)
    import {name}
    assert {name}.VALUE == 5
""")
    with pytest.raises(DporError) as caught:
        check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert caught.value.code is Code.UNCONTROLLED
    assert "imports a module that it has written" in caught.value.message
