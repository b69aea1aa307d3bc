"""The dicts in which `threading` has the threads that run and those that are being started.

They are private to it, but debuggers and tests look into them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NoReturn

from dpor.runtime import current, uncontrolled
from dpor.runtime.bare_threads import DummyThread
from dpor.runtime.identifiers import ident_of
from dpor.runtime.thread import Thread
from dpor.runtime.thread_functions import enumerate_threads


class KnownThreads(MutableMapping[Any, Any]):
    """Stands in for one of the dicts: made of what the model has in a model, the library's own elsewhere."""

    __dpor_own__ = True

    def __init__(self, name: str, found: Callable[[], dict[Any, Any]]) -> None:
        self._name = name
        self._real: dict[Any, Any] = vars(threading)[name]
        self._made = found

    def _found(self) -> dict[Any, Any]:
        return self._real if current.active_host() is None else self._made()

    def __getitem__(self, key: Any) -> Any:
        return self._found()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def __repr__(self) -> str:
        return repr(self._found())

    def __setitem__(self, key: Any, value: Any) -> None:
        if current.active_host() is not None:
            self._refuse()
        self._real[key] = value

    def __delitem__(self, key: Any) -> None:
        host = current.active_host()
        if host is None:
            del self._real[key]
            return
        thread = self._made()[key]
        if not isinstance(thread, DummyThread):
            self._refuse()
        thread.dpor_forget(host)

    def copy(self) -> dict[Any, Any]:
        """A dict of its own, as it is now."""
        return dict(self._found())

    def _refuse(self) -> NoReturn:
        host = current.active_host()
        assert host is not None
        host.end_uncontrolled(
            uncontrolled.with_calls(f"changes which threads the library knows (threading.{self._name})")
        )
        raise AssertionError


def active() -> KnownThreads:
    """What stands in for `threading._active`: the threads that run, by their identifiers."""
    return KnownThreads("_active", lambda: {ident_of(thread): thread for thread in _known(starting=False)})


def limbo() -> KnownThreads:
    """What stands in for `threading._limbo`: the threads that are being started."""
    return KnownThreads("_limbo", lambda: {thread: thread for thread in _known(starting=True)})


def _known(*, starting: bool) -> list[Thread]:
    host = current.active_host()
    assert host is not None
    listed = [thread for thread in enumerate_threads() if isinstance(thread, Thread)]
    return [thread for thread in listed if thread.dpor_is_starting(host) == starting]
