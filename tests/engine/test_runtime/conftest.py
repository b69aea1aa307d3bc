"""The fake kernel as fixtures; this folder is put on the path so that tests can name its types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import fake_kernel

from dpor.options import TaskOrder
from dpor.runtime import current
from dpor.runtime.patching import Patches


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_kernel.Host]:
    """A fake host that the runtime layer takes for the real one."""
    monkeypatch.setattr(current, "current_host", fake_kernel.current_host)
    monkeypatch.setattr(current, "active_host", fake_kernel.active_host)
    monkeypatch.setattr(current, "Abort", fake_kernel.Abort)
    with fake_kernel.Host() as fake:
        yield fake


@pytest.fixture
def explore(host: fake_kernel.Host) -> fake_kernel.Explore:
    """Explore every execution of a function; returns their outcomes."""
    patches = Patches(host, kernel=fake_kernel)  # type: ignore[arg-type]

    def run(
        function: Callable[[], None], samples: int = 0, task_order: TaskOrder = TaskOrder.LOOP
    ) -> list[fake_kernel.Outcome]:
        patches.task_order = task_order
        with patches:
            return host.explore(patches.main_thread, lambda: patches.run(function), samples)

    return run
