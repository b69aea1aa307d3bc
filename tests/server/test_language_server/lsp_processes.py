"""What a language server has of the system: processes, threads, descriptors."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil
from lsp_editor import PATIENCE, Editor

from dpor_lsp.language_server.running import MOST_SPARE


@dataclass(frozen=True)
class Held:
    """How much a server that has nothing to do holds on to."""

    processes: int
    threads: int
    descriptors: int


def family(editor: Editor) -> list[psutil.Process]:
    """The server and everything that it has started."""
    server = psutil.Process(editor.process.pid)
    return [server, *server.children(recursive=True)]


def gone(processes: list[psutil.Process], seconds: float) -> bool:
    """Whether all processes end within this time."""
    return not psutil.wait_procs(processes, timeout=seconds)[1]


def running_workers(editor: Editor) -> list[psutil.Process]:
    """The worker processes that are checking: only those have a lowered priority."""
    server = psutil.Process(editor.process.pid)
    found = []
    for process in server.children(recursive=True):
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.nice() > server.nice():
                found.append(process)
        except psutil.Error:
            continue
    return found


def held(editor: Editor) -> Held:
    """What the server holds once its spare workers wait and nothing else changes any more."""
    server = psutil.Process(editor.process.pid)
    end = time.monotonic() + PATIENCE
    former: Held | None = None
    while time.monotonic() < end:
        now = Held(len(server.children(recursive=True)), server.num_threads(), server.num_fds())
        if now == former and now.processes == MOST_SPARE and not running_workers(editor):
            return now
        former = now
        # Nothing tells when a process of somebody else's has come to rest.
        time.sleep(0.3)
    raise AssertionError(f"the server does not come to rest: {former}")
