"""The parent's side of a worker process: starts it, listens to it, and ends it and all it started in time."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Any, cast

from dpor.checkpoints import Checkpoint
from dpor.results import CheckRequest, Progress, ReplayRequest, TraceRequest, from_json, to_json
from dpor_lsp.checking.check_target import Limits
from dpor_lsp.checking.descendants import VARIABLE, end_descendants, end_marked, new_mark
from dpor_lsp.checking.head_and_tail import HeadAndTail
from dpor_lsp.checking.pipes import Mark, MarkedPipe

KILL_GRACE = 0.1
"""Seconds between asking a worker to end and ending it."""
EXIT_TIME = 0.5
"""Seconds for which a worker that has given its result may take to end by itself."""
WATCHDOG_MARGIN = 2.0
"""Seconds of silence beyond the worker's own alarm after which the parent ends it."""
OVERTIME = 15.0
"""Seconds beyond its timeout after which a worker is ended even if it still reports progress."""


class Ending(enum.Enum):
    """How a worker came to its end."""

    FINISHED = "finished"
    DIED = "died"
    HUNG = "hung"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class WorkerEnd:
    """What a worker left behind.

    `result` is the JSON of its result (None unless it finished); `status` the exit status, negative for a signal;
    `output` what the model printed, shortened; `evidence` what came on the private channel beside messages, such
    as stacks; `progress` the last report; `seconds` the wall-clock time.
    """

    ending: Ending
    result: dict[str, Any] | None = None
    status: int | None = None
    output: str = ""
    evidence: str = ""
    progress: Progress | None = None
    seconds: float = 0.0


class Cancellation:
    """Tells any number of workers to stop, from any thread; once cancelled it stays so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._listeners: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Stop everything that listens, and everything that will."""
        with self._lock:
            self._cancelled = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def add(self, listener: Callable[[], None]) -> None:
        """Have `listener` called on cancellation, at once if that has happened already."""
        with self._lock:
            if not self._cancelled:
                self._listeners.append(listener)
                return
        listener()

    def remove(self, listener: Callable[[], None]) -> None:
        """Forget `listener`."""
        with self._lock, contextlib.suppress(ValueError):
            self._listeners.remove(listener)


def worker_command(interpreter: str = sys.executable) -> list[str]:
    """Return the command line of a worker under an interpreter (default: this one)."""
    # -P: a file of the user's beside the working directory must not stand in for a module of the worker.
    return [interpreter, "-P", "-m", "dpor_lsp.checking.worker"]


def run_worker(
    request: CheckRequest | ReplayRequest,
    limits: Limits,
    *,
    cancellation: Cancellation,
    on_progress: Callable[[Progress], None] | None = None,
    command: Sequence[str] | None = None,
    start: Callable[[], Worker] | None = None,
    directory: str | None = None,
    share: Share | None = None,
) -> WorkerEnd:
    """Have one request served by a process of its own and wait for its end.

    Whatever happens, also an exception such as KeyboardInterrupt in this thread, no process is left behind.
    `command` starts another program that speaks the worker's protocol; `start` gives a worker that waits already;
    `directory` is the model's working directory (None: the parent's); `share` takes part in a check that may be split
    or continued. Raises OSError if it cannot be started.
    """
    if cancellation.cancelled:
        return WorkerEnd(Ending.CANCELLED)
    message = {
        "kind": _kind(request),
        "request": to_json(request),
        "memory": limits.memory,
        "hang": limits.hang,
        "timeout": limits.timeout,
        "directory": directory,
    }
    worker = start() if start is not None else Worker(list(command or worker_command()))
    if share is not None:
        message |= {"checkpoint": to_json(share.checkpoint), "shared": share.shared}
    cancellation.add(worker.cancel)
    try:
        worker.send(message)
        if share is not None:
            share.started(worker)
        return worker.follow(limits, on_progress, share)
    finally:
        cancellation.remove(worker.cancel)
        worker.end()


def _kind(request: CheckRequest | ReplayRequest) -> str:
    if isinstance(request, TraceRequest):
        return "trace"
    return "replay" if isinstance(request, ReplayRequest) else "check"


@dataclass(frozen=True)
class Share:
    """How a worker takes part in a check.

    `checkpoint` is where it begins (None: at the beginning), `shared` whether others explore parts too; `started` gets
    the worker once it has its request, `kept` checkpoints of its part from time to time, and `split` the answer to
    `Worker.ask`: a part (None if it has nothing to spare) and what is left without it.
    """

    checkpoint: Checkpoint | None
    shared: bool
    started: Callable[[Worker], None]
    kept: Callable[[Checkpoint], None]
    split: Callable[[Checkpoint | None, Checkpoint], None]


class _Event(enum.Enum):
    EXITED = "exited"
    CANCEL = "cancel"
    ALL_READ = "all read"


@dataclass
class _Streams:
    output: HeadAndTail = field(default_factory=HeadAndTail)
    evidence: HeadAndTail = field(default_factory=HeadAndTail)
    imported: HeadAndTail | None = None
    """What was printed before the first execution, while the model's modules were imported."""

    def begin_output(self) -> None:
        """What comes now takes the place of what an execution has printed."""
        self.imported = self.imported or self.output
        self.output = HeadAndTail()

    def printed(self) -> str:
        return (self.imported.text() if self.imported is not None else "") + self.output.text()


@dataclass
class _Told:
    """What a worker has told so far, and who wants to know of it."""

    on_progress: Callable[[Progress], None] | None
    share: Share | None
    result: dict[str, Any] | None = None
    progress: Progress | None = None

    def take(self, message: dict[str, Any]) -> None:
        match message["kind"]:
            case "result":
                self.result = message["result"]
            case "checkpoint" | "part":
                if self.share is not None:
                    _pass_on(message, self.share)
            case _:
                self.progress = from_json(Progress, message["progress"])
                if self.on_progress is not None:
                    self.on_progress(self.progress)


def _pass_on(message: dict[str, Any], share: Share) -> None:
    checkpoint = from_json(Checkpoint, message["checkpoint"])
    if message["kind"] == "checkpoint":
        share.kept(checkpoint)
    else:
        part = message["part"]
        share.split(None if part is None else from_json(Checkpoint, part), checkpoint)


class Worker:
    """One running worker; threads read its two streams and wait for its exit, one consumer follows the events.

    Raises OSError if `command` cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._started = monotonic()
        self._events: queue.SimpleQueue[_Event | dict[str, Any]] = queue.SimpleQueue()
        self._streams = _Streams()
        self._ended = False
        self._output, self._channel = _pipes()
        self._mark = new_mark()
        self._token = secrets.token_hex(16)
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=self._output.write_end,
                stderr=self._channel.write_end,
                env=_environment() | {VARIABLE: self._mark},
                # A group of its own: signalled together with all it starts, and not by Ctrl-C in the terminal.
                creationflags=_creation_flags(),
                start_new_session=sys.platform != "win32",
            )
        except BaseException:
            self._output.close()
            self._channel.close()
            raise
        self._readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_channel, daemon=True),
        ]
        try:
            for thread in (*self._readers, threading.Thread(target=self._wait, daemon=True)):
                thread.start()
        except BaseException:
            # A system without room for a thread must not be left with a process that nobody listens to.
            self.end()
            for reader, pipe in zip(self._readers, (self._output, self._channel), strict=True):
                if reader.ident is None:
                    pipe.close()
                else:
                    pipe.end()
            raise

    @property
    def alive(self) -> bool:
        """True as long as the process runs."""
        return self._process.poll() is None

    def send(self, message: dict[str, Any]) -> None:
        """Give the worker its request; standard input stays open for as long as it may live."""
        assert self._process.stdin is not None
        # A worker may have waited for long before it got something to do.
        self._started = monotonic()
        private = {"token": self._token, "afresh": self._output.afresh.hex()}
        # A worker that could not start has closed its end; its exit says more than this error.
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message | private).encode() + b"\n")
            self._process.stdin.flush()

    def ask(self) -> None:
        """Ask for a part of what is left to explore; `Share.split` gets the answer, unless the worker ends first."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def cancel(self) -> None:
        """Have `follow` give up; may be called from any thread."""
        self._events.put(_Event.CANCEL)

    def follow(
        self, limits: Limits, on_progress: Callable[[Progress], None] | None, share: Share | None = None
    ) -> WorkerEnd:
        """Take the worker's events until it is done, dead, over its limits or cancelled."""
        told = _Told(on_progress, share)
        ending: Ending | None = None
        end = None if limits.timeout is None else self._started + limits.timeout + OVERTIME
        silence = limits.hang + WATCHDOG_MARGIN
        heard = monotonic()
        # Whether the reader was asked for what is still unread, and whether nothing has come since.
        asked = quiet = False
        while ending is None:
            limit = inf if asked else heard + silence
            limit = limit if end is None else min(end, limit)
            try:
                event = self._events.get(timeout=None if limit == inf else max(0.0, limit - monotonic()))
            except queue.Empty:
                if end is not None and monotonic() >= end:
                    ending = Ending.HUNG
                elif not asked:
                    asked = quiet = True
                    self._channel.ask()
                continue
            match event:
                case _Event.ALL_READ:
                    asked = False
                    ending = Ending.HUNG if quiet else None
                case _Event.CANCEL:
                    ending = Ending.CANCELLED
                case _Event.EXITED:
                    break
                case message:
                    quiet = False
                    heard = monotonic()
                    told.take(message)
                    # The process ends itself right after its result; waiting for that would only cost time.
                    over = end is not None and heard >= end
                    ending = Ending.FINISHED if told.result is not None else Ending.HUNG if over else None
        return self._conclude(ending, told)

    def _conclude(self, ending: Ending | None, told: _Told) -> WorkerEnd:
        seconds = monotonic() - self._started
        if ending is Ending.FINISHED:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(EXIT_TIME)
        status = self._process.poll()
        self.end()
        # A process that the system has not ended yet writes nothing any more.
        self._end_streams()
        with contextlib.suppress(queue.Empty):
            while True:
                event = self._events.get_nowait()
                if not isinstance(event, _Event):
                    told.take(event)
        evidence = self._streams.evidence.text()
        if told.result is not None:
            ending = Ending.FINISHED
        elif ending is None:
            ending = Ending.HUNG if "Timeout (" in evidence else Ending.DIED
        return WorkerEnd(
            ending=ending,
            result=told.result,
            status=self._process.returncode if status is None else status,
            output=self._streams.printed(),
            evidence=evidence,
            progress=told.progress,
            seconds=seconds,
        )

    def end(self) -> None:
        """End the worker and everything it has started, politely first; a second call does nothing."""
        if self._ended:
            return
        self._ended = True
        if self._process.poll() is None:
            # Nobody finds them any more once the worker has ended.
            end_descendants(self._process.pid)
            _signal_group(self._process, polite=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_GRACE)
        _signal_group(self._process, polite=False)
        end_marked(self._mark)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _wait(self) -> None:
        self._process.wait()
        self._end_streams()
        self._events.put(_Event.EXITED)

    def _end_streams(self) -> None:
        """Wait until everything is read that the worker has written."""
        for pipe in (self._output, self._channel):
            pipe.end()
        for thread in self._readers:
            thread.join()

    def _read_output(self) -> None:
        for piece in self._output.pieces():
            if isinstance(piece, bytes):
                self._streams.output.add(piece)
            elif piece is Mark.AFRESH:
                self._streams.begin_output()

    def _read_channel(self) -> None:
        unfinished: list[bytes] = []
        for piece in self._channel.pieces():
            if isinstance(piece, Mark):
                if piece is Mark.ASKED:
                    self._events.put(_Event.ALL_READ)
                continue
            first, *others = piece.split(b"\n")
            unfinished.append(first)
            for line in others:
                self._take_line(b"".join(unfinished))
                unfinished = [line]
        self._streams.evidence.add(b"".join(unfinished))

    def _take_line(self, line: bytes) -> None:
        try:
            message: object = json.loads(line) if line.startswith(b"{") else None
        except (ValueError, RecursionError):
            message = None
        told = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        # What a model writes there does not know the token.
        if told.get("token") == self._token and "kind" in told:
            self._events.put(told)
        elif line:
            self._streams.evidence.add(line + b"\n")


def _pipes() -> tuple[MarkedPipe, MarkedPipe]:
    first = MarkedPipe()
    try:
        return first, MarkedPipe()
    except BaseException:
        first.close()
        raise


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # The order of sets and dictionaries must be the same in every run, also where a schedule is replayed.
    environment["PYTHONHASHSEED"] = "0"
    environment["PYTHONIOENCODING"] = "utf-8:backslashreplace"
    environment.pop("PYTHONFAULTHANDLER", None)
    return environment


def _creation_flags() -> int:
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS
        return flags | subprocess.CREATE_NO_WINDOW
    return 0


def _signal_group(process: subprocess.Popen[bytes], *, polite: bool) -> None:
    if sys.platform == "win32":
        if process.poll() is None:
            # Windows knows no groups to kill; taskkill follows the tree of processes.
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM if polite else signal.SIGKILL)
