"""The real worker process with an engine that only acts: whatever the model does, there is an answer."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.results import ModelResult, Verdict
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.outcomes import check_outcome
from dpor_lsp.checking.process import Cancellation, run_worker, worker_command

MakeTarget = Callable[..., CheckTarget]
Check = Callable[..., ModelResult]

ENGINE = """
import ctypes, os, subprocess, sys, time, types
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import ModelResult, Progress, SourceSpan, Verdict
import dpor_lsp.checking.worker

def check_model(request, on_progress, sharing, on_output):
    scope = dict(globals(), on_progress=on_progress, on_output=on_output, request=request)
    with open(request.file) as stream:
        exec(compile(stream.read(), request.file, "exec"), scope)
    return ModelResult("m.py::model", "m.py", 1, {}, Verdict.VERIFIED, executions=1)

engine = types.ModuleType("dpor.checking")
engine.check_model = check_model
sys.modules["dpor.checking"] = engine
dpor_lsp.checking.worker.main()
"""


@pytest.fixture
def check(tmp_path: Path, make_target: MakeTarget) -> Check:
    """Check a model whose code is given with the acting engine."""
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)

    def run(code: str, limits: Limits | None = None) -> ModelResult:
        target = make_target(textwrap.dedent(code))
        limits = limits or Limits()
        command = [sys.executable, str(script)]
        end = run_worker(target.request, limits, cancellation=Cancellation(), command=command)
        return check_outcome(target, end, limits)

    return run


def code_of(result: ModelResult) -> Code:
    assert result.reason is not None
    return result.reason.code


def test_a_result_comes_back(check: Check) -> None:
    assert check("print('hello')").verdict is Verdict.VERIFIED


def test_output_of_every_kind_is_captured_and_kept_apart(check: Check) -> None:
    result = check(
        """
        print("from Python")
        print('{"kind": "result", "result": {}}', file=sys.stderr)
        sys.stdout.flush()
        ctypes.CDLL(None).puts(b"from C")
        ctypes.CDLL(None).fflush(None)
        subprocess.run([sys.executable, "-c", "print('from a child')"])
        """
    )
    assert result.verdict is Verdict.VERIFIED
    for text in ("from Python", '{"kind": "result"', "from C", "from a child"):
        assert text in result.output


def test_what_an_execution_prints_takes_the_place_of_what_others_have(check: Check) -> None:
    result = check(
        """
        print("while it is imported")
        for number in range(3):
            sys.stdout.flush()
            on_output()
            print(number)
        """
    )
    assert result.output == "while it is imported\n2\n"


def test_a_model_that_closes_its_output_is_checked(check: Check) -> None:
    result = check("print('before', flush=True)\nos.close(1)\non_output()")
    assert (result.verdict, result.output) == (Verdict.VERIFIED, "before\n")


def test_megabytes_from_c_while_the_interpreter_lock_is_held_block_nothing(check: Check) -> None:
    result = check(
        "puts = ctypes.PyDLL(None).puts\nfor _ in range(50): puts(b'x' * 100_000)", Limits(timeout=20)
    )
    assert result.verdict is Verdict.VERIFIED
    assert "bytes left out" in result.output


def test_the_model_reads_nothing_from_standard_input(check: Check) -> None:
    assert check("assert sys.stdin.read() == ''").verdict is Verdict.VERIFIED


def test_sets_have_the_same_order_in_every_run(check: Check) -> None:
    outputs = {check("print(set('abcdefgh'))").output for _ in range(3)}
    assert len(outputs) == 1


def test_a_file_in_the_working_directory_stands_in_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('wrong module')")
    interpreter = worker_command()[: worker_command().index("-m")]
    done = subprocess.run([*interpreter, "-c", "import json"], cwd=tmp_path, check=False)
    assert done.returncode == 0


def test_a_hang_is_found_at_its_loop(check: Check) -> None:
    result = check(
        """
        def spin():
            x = 0
            while True:
                for i in range(100):
                    x += i

        spin()
        """,
        Limits(timeout=0.2),
    )
    assert (result.verdict, code_of(result)) == (Verdict.INCOMPLETE, Code.TIMEOUT)
    assert result.reason is not None
    assert result.reason.location is not None
    assert (result.reason.location.file, result.reason.location.line) == ("m.py", 4)


def test_a_hang_in_c_that_holds_the_interpreter_lock_ends_too(check: Check) -> None:
    result = check("import time\nctypes.PyDLL(None).sleep(60)", Limits(hang=1))
    assert (result.verdict, code_of(result)) == (Verdict.INCOMPLETE, Code.TIMEOUT)
    assert result.reason is not None
    assert result.reason.location is not None
    assert result.reason.location.line == 2


def test_progress_keeps_a_long_check_alive(check: Check) -> None:
    result = check(
        """
        end = time.monotonic() + 1.6
        while time.monotonic() < end:
            on_progress(Progress(1, 0, 0, 0, 0.0, 0.0))
        """,
        Limits(hang=1),
    )
    assert result.verdict is Verdict.VERIFIED


def test_leaving_the_process_is_named(check: Check) -> None:
    result = check("import ctypes; ctypes.CDLL(None)._exit(0)")
    assert code_of(result) is Code.WORKER_DIED
    assert "exit status 0" in str(result.reason)


def test_sys_exit_is_named(check: Check) -> None:
    assert code_of(check("sys.exit(4)")) is Code.WORKER_DIED


def test_a_crash_is_located(check: Check) -> None:
    result = check("x = 1\nctypes.string_at(0)")
    assert code_of(result) is Code.WORKER_DIED
    assert result.reason is not None
    assert result.reason.location is not None
    assert result.reason.location.line == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits anonymous memory")
def test_memory_is_limited(check: Check) -> None:
    result = check("kept = []\nwhile True: kept.append(bytearray(10_000_000))", Limits(memory=256 << 20))
    assert code_of(result) is Code.OUT_OF_MEMORY


def test_a_coded_error_arrives_with_its_place(check: Check) -> None:
    result = check(
        "raise DporError(Code.UNCONTROLLED, 'starts a thread', 'do not', SourceSpan('m.py', 7, 2))"
    )
    assert code_of(result) is Code.UNCONTROLLED
    assert result.reason is not None
    assert (result.reason.fix, result.reason.location and result.reason.location.line) == ("do not", 7)


def test_a_failure_of_the_engine_is_an_internal_error_with_its_traceback(check: Check) -> None:
    result = check("raise KeyError('x')")
    assert code_of(result) is Code.INTERNAL_ERROR
    assert result.reason is not None
    assert "Traceback" in result.reason.fix
    assert "m.py" in result.reason.fix


def test_threads_and_exit_handlers_of_the_model_do_not_delay_the_answer(check: Check) -> None:
    result = check(
        """
        import atexit, threading
        atexit.register(time.sleep, 60)
        threading.Thread(target=time.sleep, args=(60,)).start()
        """,
        Limits(timeout=20),
    )
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there are such processes found")
def test_a_process_that_left_everything_of_the_worker_behind_ends_with_it(
    check: Check, tmp_path: Path
) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    result = check(
        f"""
        descriptor = os.open({str(held)!r}, os.O_WRONLY)
        code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], "
        code += "close_fds=False, start_new_session=True)"
        os.set_inheritable(descriptor, True)
        subprocess.run([sys.executable, "-c", code], env={{}}, close_fds=False, start_new_session=True)
        """,
        Limits(timeout=20),
    )
    assert result.verdict is Verdict.VERIFIED
    ready, _, _ = select.select([reader], [], [], 10)
    assert ready
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_an_engine_that_still_reports_may_finish_beyond_the_timeout(check: Check) -> None:
    result = check(
        """
        end = time.monotonic() + 2.2
        while time.monotonic() < end:
            on_progress(Progress(1, 0, 0, 0, 0.0, 0.0))
        """,
        Limits(timeout=0.2),
    )
    assert result.verdict is Verdict.VERIFIED
