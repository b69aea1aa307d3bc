"""Numbers that objects without a name get in the order in which they are made: threads, pools, tasks of asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpor._kernel import Host
    from dpor.runtime.main_thread import MainThread


class Numbers:
    """The numbers of one kind, which begin anew with each execution of a check.

    To draw one is an operation, so that the orders of drawing are explored, where a program can tell them apart: where
    several threads have drawn and somebody looks at a name. Few programs look, and many make threads. `is_seen` says
    that somebody does, as far as is known.
    """

    __slots__ = ("_by_several", "_drawer", "_drawn", "_first", "_is_seen", "_main", "_place")

    def __init__(self, main: MainThread, *, first: int = 1, is_seen: bool = False) -> None:
        self._main = main
        self._first = first
        self._is_seen = is_seen
        self._drawn = 0
        # The first thread that has drawn, and whether others have.
        self._drawer: int | None = None
        self._by_several = False
        # What threads that draw conflict on.
        self._place: list[int] = []

    def begin(self) -> None:
        """An execution begins."""
        if self._drawer is not None:
            self._drawn = 0
            self._drawer = None
            self._by_several = False
            self._place = []

    def next(self, host: Host, drawer: int | None = None) -> int:
        """Draw a number; `drawer` is the index of the running thread, where it is known."""
        if drawer is None:
            drawer = host.current_index()
        if self._drawer is None:
            self._drawer = drawer
        elif drawer != self._drawer:
            self._by_several = True
        if self._is_seen:
            host.access_whole(self._place, True, self._main)
        self._drawn += 1
        return self._first + self._drawn - 1

    def see(self, host: Host) -> None:
        """A name with such a number is looked at."""
        if self._by_several and not self._is_seen:
            self._is_seen = True
            host.begin_anew()


class ThreadNames:
    """The names of threads that were given none; each execution makes the same ones again."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        # By number: the last name with it, and what it was made with.
        self._made: dict[int, tuple[str, str]] = {}

    def of(self, number: Any, target: object) -> str:
        """The name of a thread that runs `target`; `number` is an int unless a program replaces the counter."""
        label: object = getattr(target, "__name__", None)
        if type(number) is not int or type(label) is not str:
            return f"Thread-{number}" if label is None else f"Thread-{number} ({label})"
        made = self._made.get(number)
        if made is None or made[0] != label:
            made = self._made[number] = label, f"Thread-{number} ({label})"
        return made[1]


class AllNumbers:
    """What is numbered in the executions of one check."""

    __slots__ = ("names", "pools", "tasks", "threads")

    def __init__(self, main: MainThread) -> None:
        self.threads = Numbers(main)
        # A pool's number shows in the names of its threads: everybody sees it.
        self.pools = Numbers(main, first=0, is_seen=True)
        self.tasks = Numbers(main)
        self.names = ThreadNames()

    def begin(self) -> None:
        """An execution begins."""
        self.threads.begin()
        self.pools.begin()
        self.tasks.begin()
