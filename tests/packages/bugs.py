"""Bugs in releases of packages that anybody can install, each with the release that has none, where there is one."""

from __future__ import annotations

from dataclasses import dataclass

from dpor.codes import Code


@dataclass(frozen=True)
class Bug:
    """A bug that a model shows: what the check says with `broken` installed. `fixed` is a later release without it;
    both are requirements, with what they need beside them in `needs`. Without `broken` it is one of the standard
    library, from Python `until` on there no longer.
    """

    model: str
    code: Code
    says: str
    broken: str | None = None
    fixed: str | None = None
    needs: tuple[str, ...] = ()
    until: tuple[int, int] | None = None


_OF_ANYIO = ("idna==3.20", "sniffio==1.3.1", "typing_extensions==4.16.0")
_OF_LIMITS = ("deprecated==1.3.1", "packaging==26.3", "typing_extensions==4.16.0", "wrapt==2.5.2")

BUGS = (
    Bug(
        "aiorwlock_cancelled_writer",
        Code.DEADLOCK,
        "2 tasks wait for ever",
        "aiorwlock==1.5.0",
        "aiorwlock==1.5.1",
    ),
    Bug(
        "anyio_condition",
        Code.DEADLOCK,
        "2 tasks wait for ever",
        "anyio==4.12.0",
        "anyio==4.13.0",
        _OF_ANYIO,
    ),
    Bug(
        "anyio_limiter",
        Code.ASSERTION,
        "inside == [name]",
        "anyio==4.14.1",
        "anyio==4.14.2",
        _OF_ANYIO,
    ),
    Bug(
        "anyio_lock",
        Code.DEADLOCK,
        "2 tasks wait for ever",
        "anyio==4.12.0",
        "anyio==4.14.2",
        _OF_ANYIO,
    ),
    Bug(
        "async_lru_time_limit",
        Code.EXCEPTION,
        "KeyError: 1",
        "async-lru==2.0.2",
        "async-lru==2.0.3",
        ("typing_extensions==4.16.0",),
    ),
    Bug(
        "boltons_full_cache",
        Code.EXCEPTION,
        "pop from an empty deque",
        "boltons==18.0.0",
        "boltons==19.0.0",
    ),
    Bug(
        "cachelib_add",
        Code.ASSERTION,
        "added.count(True) == 1",
        "cachelib==0.14.0",
        "cachelib==0.15.2",
    ),
    Bug("cached_property_locks", Code.DEADLOCK, "2 threads wait for ever", until=(3, 12)),
    Bug(
        "fasteners_read_in_write",
        Code.DEADLOCK,
        "2 threads wait for ever",
        "fasteners==0.17.2",
        "fasteners==0.17.3",
    ),
    Bug(
        "filelock_singleton",
        Code.ASSERTION,
        "made[0] is made[1]",
        "filelock==3.29.5",
        "filelock==3.29.6",
    ),
    Bug(
        "limits_increment",
        Code.ASSERTION,
        "storage.get('key') == 2",
        "limits==5.8.0",
        needs=_OF_LIMITS,
    ),
    Bug("linecache_check", Code.EXCEPTION, "KeyError"),
    Bug(
        "loguru_remove",
        Code.EXCEPTION,
        "dictionary changed size during iteration",
        "loguru==0.7.2",
        "loguru==0.7.3",
    ),
    Bug(
        "pyrate_limiter_bucket",
        Code.ASSERTION,
        "taken.count(True) == 1",
        "pyrate-limiter==3.8.1",
        "pyrate-limiter==4.5.1",
    ),
    Bug("tenacity_two_loops", Code.ASSERTION, "attempts == 2", "tenacity==9.1.2"),
)
