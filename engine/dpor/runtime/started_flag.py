"""What a thread of a model has as `_started`: whether it was started, and nothing to set, clear or wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dpor.runtime import current, uncontrolled


class StartedFlag:
    """The library keeps an Event there, which its own methods set. Here it tells, and no more."""

    __slots__ = ("_is_started",)

    def __init__(self, is_started: Callable[[], bool]) -> None:
        self._is_started = is_started

    def is_set(self) -> bool:
        """Whether the thread was started."""
        return self._is_started()

    isSet = is_set  # noqa: N815 -- the standard library's name

    def __getattr__(self, name: str) -> Any:
        _refuse(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in StartedFlag.__slots__:
            _refuse(name)
        super().__setattr__(name, value)


def _refuse(name: str) -> NoReturn:
    host = current.active_host()
    if host is not None:
        host.end_uncontrolled(uncontrolled.with_calls(f"uses {name} of _started of a threading.Thread"))
    raise AttributeError(f"_started of a thread of a model has no {name}")
