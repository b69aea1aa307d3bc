"""Which processes are found that a worker has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from dpor_lsp.checking import descendants

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only there are such processes found"
)


def started(mark: str) -> subprocess.Popen[bytes]:
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    return subprocess.Popen(sleep, env={**os.environ, descendants.VARIABLE: mark}, start_new_session=True)


def test_a_marked_process_is_ended_and_no_other() -> None:
    mark, other = descendants.new_mark(), descendants.new_mark()
    with started(mark) as marked, started(other) as unmarked:
        descendants.end_marked(mark)
        assert marked.wait(10) == -signal.SIGKILL
        assert unmarked.poll() is None
        unmarked.kill()


def test_a_process_whose_program_is_still_being_loaded_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark = descendants.new_mark()
    with started(mark) as process:
        read = descendants._read
        # The system tells so of a process between the end of `exec` for its parent and the start of its program.
        untold = {"environ", "cmdline"}

        def reading(pid: int, name: str) -> bytes:
            if pid == process.pid and name in untold:
                untold.remove(name)
                return b""
            return read(pid, name)

        monkeypatch.setattr(descendants, "_read", reading)
        try:
            descendants.end_marked(mark)
            assert process.wait(10) == -signal.SIGKILL
        finally:
            process.kill()
