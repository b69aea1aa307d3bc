"""The process in which one model is checked, replayed or traced: `python -m dpor_lsp.checking.worker`.

`process` starts it.

One line of JSON comes in on standard input. What standard error was at the start becomes the private channel, on
which JSON lines go out; whatever else appears there (an interpreter that cannot start, the stacks that faulthandler
writes) is evidence for the parent. Standard output stays the pipe for what the model prints, standard error is
pointed at it too, and the parent drains it: the process never has to run Python code to get rid of output, so output
from C while the interpreter lock is held cannot block it.
"""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import json
import os
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any

from dpor.checkpoints import Checkpoint, LearnedError, Sharing
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import (
    CheckRequest,
    ModelResult,
    Progress,
    Reason,
    ReplayRequest,
    TraceRequest,
    Verdict,
    from_json,
    to_json,
)
from dpor.runtime.outside.real import system
from dpor_lsp.checking.descendants import adopt_orphans, end_descendants

PROGRESS_INTERVAL = 0.1
GRACE = 1.0
"""Seconds of silence after the timeout in which the engine may stop by itself before the process ends itself."""
NICENESS = 5
READ_SIZE = 1 << 16
# Bytes. Linux leaves 128 MiB for the stack of the first thread when it lays out the memory of a process.
STACK = 96 << 20


class Channel:
    """The private way to the parent: one JSON object a line, each with the token that the request came with."""

    def __init__(self, descriptor: int, token: str) -> None:
        self.descriptor = descriptor
        self._token = token

    def send(self, **message: Any) -> None:
        """Write one message completely; a parent that is gone ends the process."""
        text = json.dumps({**message, "token": self._token}, separators=(",", ":"))
        # Whatever a model has written there before, this is a line of its own.
        data = memoryview(b"\n" + text.encode() + b"\n")
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError:
            os._exit(1)


class PartsWanted:
    """How often the parent has asked for a part of what is left, without an answer so far."""

    def __init__(self) -> None:
        self._asked = 0
        self._answered = 0

    def ask(self) -> None:
        """The parent asks once more; called from the thread that listens."""
        self._asked += 1

    def answered(self) -> None:
        """It has got an answer to all that it asked."""
        self._answered = self._asked

    def any(self) -> bool:
        """Whether an answer is due."""
        return self._asked > self._answered


class Alarm:
    """Ends the process, with the stacks of its threads on the channel, when the model stops making progress.

    It is faulthandler's own C thread: it needs no interpreter lock, so it also fires while the model is stuck in C.
    `hang` is how many seconds may pass without progress, `timeout` how many for the whole check (None: any).
    """

    def __init__(self, descriptor: int, hang: float, timeout: float | None) -> None:
        self._descriptor = descriptor
        self._hang = hang
        self._end = None if timeout is None else monotonic() + timeout
        self._armed = float("-inf")

    def progress(self) -> None:
        """Start the count anew; called often, it acts twice a second at most."""
        now = monotonic()
        if now - self._armed < 0.5:
            return
        self._armed = now
        # Beyond its timeout the engine may still explain what it has found, as long as it goes on reporting.
        seconds = self._hang if self._end is None else min(self._hang, max(self._end - now, 0.0) + GRACE)
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._descriptor)

    def off(self) -> None:
        """Never fire again."""
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Serve the one request on standard input, send its result and end the process at once.

    With `--warm` on the command line everything that a check needs is loaded before the request is there.
    """
    if "--warm" in sys.argv[1:]:
        _load()
    message = _read_request()
    wanted = PartsWanted()
    channel = _take_streams(wanted, message["token"])
    if message.get("directory"):
        os.chdir(message["directory"])
    adopt_orphans()
    _lower_priority()
    _limit_memory(int(message["memory"]))
    enlarge_stack()
    alarm = Alarm(channel.descriptor, float(message["hang"]), message["timeout"])
    alarm.progress()
    result = _serve(message, channel, alarm, wanted)
    alarm.off()
    try:
        json.dumps(result)
    except (TypeError, ValueError, RecursionError) as error:
        result = _unreadable(message, error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    end_descendants(os.getpid())
    channel.send(kind="result", result=result)
    # What the model left running (threads, exit handlers) must not delay or change the answer.
    os._exit(0)


def _load() -> None:
    """Import what a check and a replay need, so that neither waits for it."""
    import importlib

    # The second is loaded for a replay alone, and loads what shows a counterexample.
    for name in ("dpor.checking", "dpor.counterexample.replay"):
        importlib.import_module(name)


def _unreadable(message: dict[str, Any], error: Exception) -> Any:
    """Return the result of a request whose own result cannot be written down."""
    if message["kind"] == "check":
        return to_json(_failed(from_json(CheckRequest, message["request"]), error))
    return {"reason": to_json(_reason(error))}


def _serve(message: dict[str, Any], channel: Channel, alarm: Alarm, wanted: PartsWanted) -> Any:
    if message["kind"] == "replay":
        return _replay(from_json(ReplayRequest, message["request"]))
    if message["kind"] == "trace":
        return _trace(from_json(TraceRequest, message["request"]))
    return _check(message, channel, alarm, wanted)


def _check(message: dict[str, Any], channel: Channel, alarm: Alarm, wanted: PartsWanted) -> Any:
    request = from_json(CheckRequest, message["request"])
    sent = float("-inf")

    def on_progress(progress: Progress) -> None:
        nonlocal sent
        alarm.progress()
        now = monotonic()
        if now - sent >= PROGRESS_INTERVAL:
            sent = now
            channel.send(kind="progress", progress=to_json(progress))

    def keep(checkpoint: Checkpoint) -> None:
        channel.send(kind="checkpoint", checkpoint=to_json(checkpoint))

    def give(part: Checkpoint | None, checkpoint: Checkpoint) -> None:
        wanted.answered()
        channel.send(kind="part", part=to_json(part), checkpoint=to_json(checkpoint))

    try:
        from dpor.checking import check_model

        checkpoint = message.get("checkpoint")
        sharing = Sharing(
            checkpoint=None if checkpoint is None else from_json(Checkpoint, checkpoint),
            keep=keep,
            wanted=wanted.any,
            give=give,
            shared=bool(message.get("shared")),
        )
        return to_json(check_model(request, on_progress, sharing, _mark_of_output(message["afresh"])))
    except LearnedError as learned:
        return {"learned": to_json(learned.learned)}
    except BaseException as error:
        return to_json(_failed(request, error))


def _mark_of_output(mark: str) -> Callable[[], None]:
    """What tells the parent that what is printed now takes the place of what was printed before."""
    # The model gets a stand-in for it.
    write = os.write

    def tell() -> None:
        # A model may have closed the stream.
        with contextlib.suppress(OSError):
            write(1, bytes.fromhex(mark))

    return tell


def _replay(request: ReplayRequest) -> dict[str, Any]:
    try:
        from dpor.counterexample.replay import replay_model

        return {"replay": to_json(replay_model(request))}
    except BaseException as error:
        return {"reason": to_json(_reason(error))}


def _trace(request: TraceRequest) -> dict[str, Any]:
    try:
        from dpor.tracing import trace_model

        return {"trace": to_json(trace_model(request))}
    except BaseException as error:
        return {"reason": to_json(_reason(error))}


def _failed(request: CheckRequest, error: BaseException) -> ModelResult:
    return ModelResult(
        id=f"{request.file}::{request.model}",
        file=request.file,
        line=1,
        parameters=request.parameters,
        verdict=Verdict.ERROR,
        reason=_reason(error),
    )


def _reason(error: BaseException) -> Reason:
    if isinstance(error, DporError):
        return Reason(error.code, error.message, error.fix, error.span)
    if isinstance(error, MemoryError):
        _lift_memory_limit()
        return out_of_memory()
    # Imported here because only a failure of this program needs it.
    from dpor.exception_texts import titled

    if isinstance(error, SystemExit):
        return Reason(
            Code.WORKER_DIED,
            f"the model ended the interpreter with {titled(error)}",
            "raise another exception, or return from the function",
        )
    from dpor_lsp.checking.failures import reason_of

    return reason_of(error)


def out_of_memory() -> Reason:
    """Return the reason of a model that used more memory than it may."""
    return Reason(
        Code.OUT_OF_MEMORY,
        "the model used more memory than a worker may",
        "make the model smaller, or give it more with --memory-limit 4G",
    )


def _read_request() -> dict[str, Any]:
    """Read one line from standard input; more would be a protocol error, so nothing is buffered beyond it."""
    data = b""
    while not data.endswith(b"\n"):
        piece = os.read(0, READ_SIZE)
        if not piece:
            os._exit(1)
        data += piece
    message: dict[str, Any] = json.loads(data)
    return message


def _take_streams(wanted: PartsWanted, token: str) -> Channel:
    """Set the private channel apart, point what the model can reach elsewhere and end with the parent."""
    channel = os.dup(2)
    lifeline = os.dup(0)
    os.dup2(1, 2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    faulthandler.enable(file=channel)
    # Taken from `_thread` and started before anything is patched: it outlives whatever the model does.
    _thread.start_new_thread(_listen, (lifeline, wanted))
    return Channel(channel, token)


def _listen(lifeline: int, wanted: PartsWanted) -> None:
    """Note each further line on standard input, which asks for a part of the work, until the parent's end closes.

    It also closes when the parent is killed; then this process ends.
    """
    try:
        while piece := os.read(lifeline, READ_SIZE):
            for _ in range(piece.count(b"\n")):
                wanted.ask()
    except OSError:
        pass
    end_descendants(system.getpid())
    os._exit(1)


def _lower_priority() -> None:
    if hasattr(os, "nice"):
        try:
            os.nice(NICENESS)
        except OSError:
            return


def _limit_memory(size: int) -> None:
    """Hold the process to `size` bytes of memory where the system can (0: no limit)."""
    if size == 0 or sys.platform == "win32":
        return
    import resource

    # Linux counts anonymous memory under RLIMIT_DATA; elsewhere that is the heap alone, so the address space it is.
    kind = resource.RLIMIT_DATA if sys.platform.startswith("linux") else resource.RLIMIT_AS
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    try:
        resource.setrlimit(kind, (size, hard))
    except (OSError, ValueError, OverflowError):
        return


def enlarge_stack() -> None:
    """Make room for nested calls where the system can: those of hooks take more of the stack than the model's own."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    now, hard = resource.getrlimit(resource.RLIMIT_STACK)
    most = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    if now == resource.RLIM_INFINITY or now >= most:
        return
    try:
        resource.setrlimit(resource.RLIMIT_STACK, (most, hard))
    except (OSError, ValueError):
        return


def _lift_memory_limit() -> None:
    """Give the process room to say that it ran out of memory."""
    if sys.platform == "win32":
        return
    import resource

    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        hard = resource.getrlimit(kind)[1]
        try:
            resource.setrlimit(kind, (hard, hard))
        except (OSError, ValueError):
            continue


if __name__ == "__main__":
    main()
