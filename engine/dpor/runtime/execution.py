"""What the runtime layer remembers about one execution, shared by all its model threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpor.options import TaskOrder
from dpor.runtime.cancellations import Cancellations

if TYPE_CHECKING:
    from dpor._kernel import Host
    from dpor.runtime.event_loop import EventLoop
    from dpor.runtime.main_thread import MainThread
    from dpor.runtime.thread import Thread


class Execution:
    """Counters and registers that start afresh with every execution.

    `threads` are the threads started so far, in the order in which `threading` came to know them, without the main
    thread; `loops` the event loops made so far; `open_pools` the executors that have started workers, each with the
    index of the thread that had it do so and a number that orders what that thread did; `failed_futures` those whose
    exception nobody has asked for yet; `has_pool_tasks` whether tasks of pools are threads; `task_order` how event
    loops serve what is ready; `cancellations` those of tasks that loops make by themselves; `told_idents` the threads
    whose identifier the model was told. `numbers` number threads, thread pools and tasks that were given no name, and
    `hashes` objects whose hash must not depend on where they lie in memory.
    """

    __slots__ = (
        "cancellations",
        "failed_futures",
        "has_pool_tasks",
        "hashes",
        "loops",
        "main",
        "numbers",
        "open_pools",
        "task_order",
        "threads",
        "told_idents",
    )

    def __init__(self, main: MainThread) -> None:
        self.main = main
        self.task_order = TaskOrder.LOOP
        self.cancellations = Cancellations(0)
        self.threads: list[Thread] = []
        self.told_idents: list[Thread] = []
        self.loops: list[EventLoop] = []
        self.open_pools: list[tuple[int, int, Any]] = []
        self.failed_futures: list[Any] = []
        self.has_pool_tasks = False
        self.numbers = main.dpor_numbers
        self.hashes = 0

    def raise_failures(self, ending: Thread) -> None:
        """Raise what tasks failed with of which nobody has asked, in a thread that ends, after the model's own code."""
        for loop in self.loops:
            if loop.fails_with(ending):
                loop.raise_unretrieved()

    def add_thread(self, host: Host, thread: Thread) -> None:
        """A thread is about to be started."""
        listed = self.main.dpor_listed
        if listed:
            self._change_threads(host, thread)
        self.threads.append(thread)
        if listed:
            thread.dpor_reserved = host.next_thread()

    def remove_thread(self, host: Host, thread: Thread) -> None:
        """It could not be started."""
        self._change_threads(host, thread)
        self.threads.remove(thread)

    def move_thread(self, host: Host, thread: Thread) -> None:
        """`threading` comes to know a thread that was started without it, or forgets it."""
        self._change_threads(host, thread)
        self.threads.remove(thread)
        self.threads.append(thread)

    def _change_threads(self, host: Host, thread: Thread) -> None:
        # Few programs ask which threads there are, and all start threads.
        if self.main.dpor_listed:
            host.access_whole(self.threads, True, thread)

    def list_threads(self, host: Host, *, unmet: bool = False) -> list[Thread]:
        """The threads started so far that `threading` knows, or all: one operation, which conflicts with starts.

        Which of them have ended is to be asked then.
        """
        if self.has_pool_tasks:
            host.open_pools()
        main = self.main
        if not main.dpor_listed and not host.is_alone():
            main.dpor_listed = True
            host.begin_anew()
        if main.dpor_listed:
            host.access_whole(self.threads, False, main)
        return [thread for thread in self.threads if unmet or thread.dpor_is_known()]

    def next_hash(self) -> int:
        """A number that no other object of this execution has as its hash."""
        self.hashes += 1
        return self.hashes
