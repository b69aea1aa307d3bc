"""Runs test methods one after another, each in a process of its own that is forked when the module is loaded.

So a method that hangs, crashes or leaves something behind costs nobody but itself.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterable

from fidelity.outcome import Happening

Answer = dict[str, object]
"""What a process says of a method: its happenings, an item an execution, and the code and words of a refusal."""

# Bound before a check replaces them.
_fork, _read, _write, _exit, _pipe, _close = os.fork, os.read, os.write, os._exit, os.pipe, os.close
_kill, _waitpid, _setsid, _monotonic = os.killpg, os.waitpid, os.setsid, time.monotonic
_open, _dup, _dup2 = os.open, os.dup, os.dup2


def serve(names: Iterable[str], run: Callable[[str], Answer], patience: float) -> None:
    """Answer for each of the methods with a line of JSON on standard output; one that takes longer than `patience`
    seconds is ended.
    """
    out = _dup(1)
    quiet = _open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        _dup2(quiet, descriptor)
    for name in names:
        begun = _monotonic()
        answer = _in_a_process(name, run, patience)
        answer["name"] = name
        answer["seconds"] = round(_monotonic() - begun, 2)
        _all(out, json.dumps(answer).encode() + b"\n")


def _in_a_process(name: str, run: Callable[[str], Answer], patience: float) -> Answer:
    reading, writing = _pipe()
    child = _fork()
    if child == 0:
        _close(reading)
        _setsid()
        try:
            answer = run(name)
        except BaseException as error:
            answer = {"executions": [], "broken": f"{type(error).__name__}: {error}"}
        _all(writing, json.dumps(answer).encode())
        _exit(0)
    _close(writing)
    data, ended = _until_end(reading, patience)
    _close(reading)
    try:
        _kill(child, signal.SIGKILL)
    except ProcessLookupError:
        ended = True
    status = _waitpid(child, 0)[1]
    if data:
        try:
            return json.loads(data)
        except ValueError:
            pass
    if not ended:
        return {"executions": [[Happening("hangs")]]}
    how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status >> 8}"
    return {"executions": [[Happening("dies", message=how)]]}


def _until_end(reading: int, patience: float) -> tuple[bytes, bool]:
    data = b""
    end = _monotonic() + patience
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while selector.select(max(0.0, end - _monotonic())):
            piece = _read(reading, 1 << 16)
            if not piece:
                return data, True
            data += piece
    return b"", False


def _all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[_write(descriptor, left) :]


def fail(message: str) -> None:
    """End the process, whose module cannot be run at all."""
    sys.stdout.write(json.dumps({"unloaded": message}) + "\n")
    sys.stdout.flush()
    _exit(0)
