"""Workers that misbehave in every way cost their own result and leave nothing behind."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dpor.checkpoints import Checkpoint
from dpor.codes import Code
from dpor.results import Progress, Verdict
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.head_and_tail import OUTPUT_LIMIT, HeadAndTail
from dpor_lsp.checking.outcomes import check_outcome
from dpor_lsp.checking.process import (
    Cancellation,
    Ending,
    Share,
    Worker,
    WorkerEnd,
    run_worker,
)

Act = Callable[[str], list[str]]
MakeTarget = Callable[..., CheckTarget]


def run(target: CheckTarget, command: list[str], limits: Limits | None = None) -> WorkerEnd:
    return run_worker(target.request, limits or Limits(), cancellation=Cancellation(), command=command)


def test_a_result_arrives_with_what_the_model_printed(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    end = run(target, act("print('hello', flush=True); answer(executions=7)"))
    result = check_outcome(target, end, Limits())
    assert (result.verdict, result.executions, result.output) == (Verdict.VERIFIED, 7, "hello\n")


def test_megabytes_of_output_keep_head_and_tail_and_block_nothing(act: Act, make_target: MakeTarget) -> None:
    code = "print('first\\n' + ('x' * 80 + '\\n') * 60000 + 'last', flush=True); answer()"
    end = run(make_target(), act(code))
    assert end.ending is Ending.FINISHED
    assert end.output.startswith("first\n")
    assert end.output.endswith("last\n")
    assert "bytes left out" in end.output
    assert len(end.output) < 2 * OUTPUT_LIMIT + 100


def test_an_exit_without_a_result_names_the_status(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    result = check_outcome(target, run(target, act("os._exit(7)")), Limits())
    assert result.verdict is Verdict.ERROR
    assert result.reason is not None
    assert result.reason.code is Code.WORKER_DIED
    assert "exit status 7" in result.reason.message


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_signal_is_named(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    result = check_outcome(target, run(target, act("os.kill(os.getpid(), 6)")), Limits())
    assert result.reason is not None
    assert "SIGABRT" in result.reason.message


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_being_killed_from_outside_counts_as_running_out_of_memory(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    result = check_outcome(target, run(target, act("os.kill(os.getpid(), 9)")), Limits())
    assert result.reason is not None
    assert result.reason.code is Code.OUT_OF_MEMORY


def test_a_failed_allocation_in_native_code_is_out_of_memory(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    code = "print('memory allocation of 99 bytes failed', flush=True); os._exit(134)"
    result = check_outcome(target, run(target, act(code)), Limits())
    assert result.reason is not None
    assert result.reason.code is Code.OUT_OF_MEMORY


def test_an_answer_that_is_no_result_is_an_internal_error(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    result = check_outcome(target, run(target, act("answer(verdict='perhaps')")), Limits())
    assert result.reason is not None
    assert result.reason.code is Code.INTERNAL_ERROR


def test_noise_on_the_private_channel_is_evidence_and_no_message(act: Act, make_target: MakeTarget) -> None:
    end = run(make_target(), act("os.write(2, b'{not json\\nplain\\n'); answer()"))
    assert end.ending is Ending.FINISHED
    assert end.evidence == "{not json\nplain\n"


@pytest.mark.parametrize(
    "written",
    [
        "b'unfinished'",
        'b\'{"kind": "result", "result": 7}\\n\'',
        'b\'{"kind": "progress", "token": "guessed"}\\n\'',
        "b'[' * 100000 + b'\\n'",
    ],
)
def test_what_a_model_writes_to_the_private_channel_is_no_message(
    act: Act, make_target: MakeTarget, written: str
) -> None:
    end = run(make_target(), act(f"os.write(2, {written}); answer(executions=4)"))
    assert end.ending is Ending.FINISHED
    assert end.result is not None
    assert end.result["executions"] == 4


def test_a_long_message_arrives_whole(act: Act, make_target: MakeTarget) -> None:
    code = "import io\nout = io.FileIO(2, 'w', closefd=False)\n"
    code += "told = {'kind': 'result', 'token': message['token'], 'result': {'x': 'y' * 3000000}}\n"
    code += "data = memoryview(json.dumps(told).encode() + b'\\n')\n"
    code += "while data:\n    data = data[out.write(data):]\nos._exit(0)"
    end = run(make_target(), act(code))
    assert end.result is not None
    assert len(end.result["x"]) == 3000000


def test_progress_is_passed_on(act: Act, make_target: MakeTarget) -> None:
    seen: list[Progress] = []
    run_worker(
        make_target().request,
        Limits(),
        cancellation=Cancellation(),
        command=act("progress(1); progress(2); answer()"),
        on_progress=seen.append,
    )
    assert [item.executions for item in seen] == [1, 2]


def test_a_hang_ends_at_the_parents_deadline(
    act: Act, make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpor_lsp.checking.process.OVERTIME", 0.0)
    target = make_target()
    limits = Limits(timeout=0.3)
    end = run(target, act("progress(5)\nwhile True: time.sleep(9)"), limits)
    result = check_outcome(target, end, limits)
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason is not None
    assert result.reason.code is Code.TIMEOUT
    assert result.executions == 5


def test_silence_ends_a_worker_that_has_no_timeout(
    act: Act, make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpor_lsp.checking.process.WATCHDOG_MARGIN", 0.0)
    assert run(make_target(), act("time.sleep(99)"), Limits(hang=0.3)).ending is Ending.HUNG


class LateReader(Worker):
    """A worker whose channel is read only once `may_read` is set, and then byte by byte."""

    def __init__(self, command: list[str]) -> None:
        self.may_read = threading.Event()
        super().__init__(command)

    def _read_channel(self) -> None:
        self.may_read.wait()
        super()._read_channel()

    def wait_and_read(self) -> None:
        """Let the channel be read when the process has ended."""
        self._process.wait()
        self.may_read.set()


def test_a_result_that_is_read_long_after_the_workers_end_arrives(
    act: Act, make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpor_lsp.checking.pipes.READ_SIZE", 1)
    worker = LateReader(act("answer(output='x' * 60000)"))
    threading.Thread(target=worker.wait_and_read).start()
    end = run_worker(make_target().request, Limits(), cancellation=Cancellation(), start=lambda: worker)
    assert end.result is not None
    assert len(end.result["output"]) == 60000


def test_a_worker_is_silent_only_if_there_is_nothing_left_to_read(
    act: Act, make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpor_lsp.checking.process.WATCHDOG_MARGIN", 0.0)

    class AskedLate(LateReader):
        """Its parent finds no time to read what it writes until it seems to have been silent for too long."""

        def __init__(self, command: list[str]) -> None:
            super().__init__(command)
            ask = self._channel.ask

            def late() -> None:
                self.wait_and_read()
                ask()

            self._channel.ask = late

    worker = AskedLate(act("answer()"))
    limits = Limits(hang=0.0)
    end = run_worker(make_target().request, limits, cancellation=Cancellation(), start=lambda: worker)
    assert end.ending is Ending.FINISHED


def test_what_is_read_after_a_cancellation_counts(act: Act, make_target: MakeTarget) -> None:
    cancellation = Cancellation()

    class CancelledLate(LateReader):
        def cancel(self) -> None:
            self._process.wait()
            super().cancel()
            self.may_read.set()

    code = "send(kind='checkpoint', checkpoint={'executions': 3}); answer()"
    checkpoints: list[Checkpoint] = []

    def cancel_soon(worker: Worker) -> None:
        threading.Thread(target=cancellation.cancel).start()

    share = Share(None, False, started=cancel_soon, kept=checkpoints.append, split=lambda part, rest: None)
    worker = CancelledLate(act(code))
    end = run_worker(
        make_target().request, Limits(), cancellation=cancellation, start=lambda: worker, share=share
    )
    assert end.ending is Ending.FINISHED
    assert [item.executions for item in checkpoints] == [3]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize("act_of_child", ["os.read(stays_open, 1)", "while True: os.write(2, b'more')"])
def test_a_process_that_keeps_the_channel_open_is_not_waited_for(
    act: Act, make_target: MakeTarget, tmp_path: Path, act_of_child: str
) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    # Both ends: the child opens its own without a wait, and its read ends when this test closes them.
    ends = os.open(held, os.O_RDWR)
    code = f"""
        stays_open = os.open({str(held)!r}, os.O_RDONLY)
        os.write(2, b"the last words")
        if os.fork() == 0:
            os.setsid()
            {act_of_child}
            os._exit(0)
        os.write(1, b"printed")
        os._exit(3)
    """
    end = run(make_target(), act(code))
    os.close(ends)
    assert (end.ending, end.status, end.output) == (Ending.DIED, 3, "printed")
    assert "the last words" in end.evidence


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_what_a_worker_started_ends_with_it(act: Act, make_target: MakeTarget, tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    code = f"""
        import subprocess
        descriptor = os.open({str(held)!r}, os.O_WRONLY)
        os.write(descriptor, b"x")
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=[descriptor])
        os._exit(3)
    """
    run(make_target(), act(code))
    assert os.read(reader, 1) == b"x"
    # The end of the stream comes when nobody holds the other end any more.
    ready, _, _ = select.select([reader], [], [], 10)
    assert ready
    assert os.read(reader, 1) == b""
    os.close(reader)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there are such processes found")
@pytest.mark.parametrize("end", ["os._exit(3)", "answer()", "progress(1); time.sleep(60)"])
def test_what_a_worker_started_in_a_session_of_its_own_ends_with_it(
    act: Act, make_target: MakeTarget, tmp_path: Path, end: str
) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    code = f"""
        import subprocess
        descriptor = os.open({str(held)!r}, os.O_WRONLY)
        os.write(descriptor, b"x")
        sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
        subprocess.Popen(sleep, pass_fds=[descriptor], start_new_session=True)
        {end}
    """
    cancellation = Cancellation()
    run_worker(
        make_target().request,
        Limits(),
        cancellation=cancellation,
        command=act(code),
        on_progress=lambda progress: cancellation.cancel(),
    )
    assert os.read(reader, 1) == b"x"
    ready, _, _ = select.select([reader], [], [], 10)
    assert ready
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_cancelling_ends_a_worker_that_ignores_requests_to_end(act: Act, make_target: MakeTarget) -> None:
    cancellation = Cancellation()
    code = (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprogress(1)\nwhile True: time.sleep(9)"
    )
    end = run_worker(
        make_target().request,
        Limits(),
        cancellation=cancellation,
        command=act(code),
        on_progress=lambda progress: cancellation.cancel(),
    )
    assert end.ending is Ending.CANCELLED
    assert end.seconds < 5


def test_a_cancelled_check_starts_no_process(make_target: MakeTarget) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    end = run_worker(make_target().request, Limits(), cancellation=cancellation, command=["/does/not/exist"])
    assert end.ending is Ending.CANCELLED


def test_head_and_tail_of_a_short_stream_is_the_stream() -> None:
    kept = HeadAndTail(4)
    for piece in (b"ab", b"cd", b"efg"):
        kept.add(piece)
    assert kept.text() == "abcdefg"


def test_head_and_tail_says_how_much_is_missing() -> None:
    kept = HeadAndTail(4)
    for number in range(100):
        kept.add(b"%02d" % number)
    assert kept.text() == "0001\n... 192 bytes left out ...\n9899"
