"""`logging.Logger.isEnabledFor` without its cache, where that makes no difference.

Each logger keeps for each level whether it is enabled. Threads that log for the first time find this or store it, in
every order, and get the same answer unless somebody changes a level. So here a thread that finds nothing computes the
answer and does not keep it. A later answer that differs may be one that the cache would not have given, and a thread
that fills the cache waits for its lock: if a later answer in the same execution differs, or another thread holds the
lock, the check begins anew with the cache.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from dpor.runtime import current
from dpor.runtime.patchset import PatchSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpor._kernel import Host


class LoggerLevels:
    """The answers of the running execution.

    `lock_class` is the class of the lock that the library takes, where it is one of the model. `_cached` says that the
    library's cache is used, as it makes a difference. `_answers` are the first ones that are kept out of it, with their
    loggers, by the logger's address and the level.
    """

    def __init__(self, lock_class: type) -> None:
        self._lock_class = lock_class
        self._cached = False
        self._execution = 0
        self._answers: dict[tuple[int, int], tuple[object, bool]] = {}

    def patch(self, patches: PatchSet, module: ModuleType) -> None:
        """Put the replacement in place."""
        owner: Any = vars(module)["Logger"]
        real: Callable[[Any, Any], bool] = owner.isEnabledFor
        effective = owner.getEffectiveLevel

        @functools.wraps(real)
        def is_enabled_for(logger: Any, level: Any) -> bool:
            host = current.active_host()
            lock = vars(module)["_lock"]
            if (
                host is None
                or self._cached
                or (host.is_alone() and not self._of(host))
                or type(lock) is not self._lock_class
                or type(level) is not int
                or cast(Any, type(logger)).getEffectiveLevel is not effective
                or host.contains(level, host.load_attribute(logger, "_cache"))
            ):
                return real(logger, level)
            return self._answer(host, lock, logger, level)

        patches.replace(owner, "isEnabledFor", is_enabled_for)

    def _answer(self, host: Host, lock: object, logger: Any, level: int) -> bool:
        if host.load_attribute(logger, "disabled"):
            return False
        if host.is_held_by_another(lock):
            self._use_cache(host)
        disabled = host.load_attribute(host.load_attribute(logger, "manager"), "disable") >= level
        answer = not disabled and level >= host.method(logger, "getEffectiveLevel")()
        _, first = self._of(host).setdefault((id(logger), level), (logger, answer))
        if answer != first:
            self._use_cache(host)
        return answer

    def _of(self, host: Host) -> dict[tuple[int, int], tuple[object, bool]]:
        if self._execution != host.execution:
            self._execution = host.execution
            self._answers.clear()
        return self._answers

    def _use_cache(self, host: Host) -> None:
        self._cached = True
        host.begin_anew()
