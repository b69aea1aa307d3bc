"""The thread that runs a model's function."""

from __future__ import annotations

from collections.abc import Callable

from dpor.runtime.execution import Execution
from dpor.runtime.numbering import AllNumbers
from dpor.runtime.thread import RealThread, Thread


class MainThread(Thread):
    """The thread that runs the model's function: one object for all executions of a check.

    `dpor_listed` says whether a program asks which threads there are, as far as is known. `dpor_numbers` are what
    objects without a name are numbered by. `dpor_starter` is what threads are started by (`STARTER`) as long as no
    program replaces it.
    """

    __slots__ = ("dpor_listed", "dpor_numbers", "dpor_starter")

    dpor_listed: bool
    dpor_numbers: AllNumbers
    dpor_starter: Callable[..., object] | None

    def __init__(self) -> None:
        self.dpor_index = 0
        self.dpor_listed = False
        self.dpor_numbers = AllNumbers(self)
        self.dpor_starter = None
        self.dpor_execution = Execution(self)
        self.dpor_made_inside = True
        self._target = None
        self._args = ()
        self._kwargs = {}
        self._name = "MainThread"
        self._daemonic = False
        self._initialized = True

    def begin(self) -> Execution:
        """Forget the last execution and return what the next one will write into."""
        self.dpor_numbers.begin()
        self.dpor_execution = execution = Execution(self)
        self.dpor_finished = False
        self.dpor_made = 0
        self.dpor_children = None
        self.dpor_draws = None
        self.dpor_running_loop = None
        self.dpor_loops = None
        self.dpor_lane = None
        self._name = "MainThread"
        return execution

    def start(self) -> None:
        """RuntimeError: the main thread runs already."""
        raise RuntimeError("threads can only be started once")


MainThread.__module__ = RealThread.__module__
MainThread.__name__ = MainThread.__qualname__ = "_MainThread"
