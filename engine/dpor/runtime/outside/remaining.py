"""The functions of os that nothing stands in for: those that are known to be harmless pass, the others are refused.

What is new in a version of Python is refused until it is looked at.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from dpor.runtime.outside.real import system
from dpor.runtime.outside.world import World

# They compute, or tell what neither an execution nor another process changes while a model is checked.
_HARMLESS = frozenset(
    {
        "WCOREDUMP",
        "WEXITSTATUS",
        "WIFCONTINUED",
        "WIFEXITED",
        "WIFSIGNALED",
        "WIFSTOPPED",
        "WSTOPSIG",
        "WTERMSIG",
        "_findfirstfile",
        "_getdiskusage",
        "_getfinalpathname",
        "_getfullpathname",
        "_getvolumepathname",
        "_path_exists",
        "_path_isdevdrive",
        "_path_isdir",
        "_path_isfile",
        "_path_islink",
        "_path_isjunction",
        "_path_lexists",
        "_path_normpath",
        "_path_splitroot",
        "_path_splitroot_ex",
        "_supports_virtual_terminal",
        "confstr",
        "cpu_count",
        "ctermid",
        "device_encoding",
        "fspath",
        "get_handle_inheritable",
        "get_terminal_size",
        "getegid",
        "geteuid",
        "getgid",
        "getgrouplist",
        "getgroups",
        "getlogin",
        "getpgid",
        "getpgrp",
        "getpid",
        "getppid",
        "getpriority",
        "getresgid",
        "getresuid",
        "getsid",
        "getuid",
        "listdrives",
        "listmounts",
        "listvolumes",
        "major",
        "makedev",
        "minor",
        "register_at_fork",
        "sched_get_priority_max",
        "sched_get_priority_min",
        "sched_getaffinity",
        "sched_getparam",
        "sched_getscheduler",
        "sched_rr_get_interval",
        "sched_yield",
        "strerror",
        "sync",
        "sysconf",
        "tcgetpgrp",
        "uname",
        "waitstatus_to_exitcode",
    }
)
# What the environment, the draws and the audit events see to, which say more than can be said here.
_SEEN = frozenset(
    {
        "execv",
        "execve",
        "fork",
        "forkpty",
        "kill",
        "killpg",
        "posix_spawn",
        "posix_spawnp",
        "putenv",
        "spawnv",
        "spawnve",
        "startfile",
        "system",
        "unsetenv",
        "urandom",
        "wait",
        "wait3",
        "wait4",
        "waitid",
        "waitpid",
    }
)
_WHAT = {
    "_exit": "ends the process",
    "abort": "ends the process",
    "getrandom": "draws from the system",
    "pipe": "makes a pipe",
    "pipe2": "makes a pipe",
}


def refusing(world: World, known: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Name in os to what stands in for it, for the functions that are to be refused; `known` have a stand-in."""
    passed = _HARMLESS | _SEEN | frozenset(known)
    functions = {
        name: function
        for name, function in vars(system).items()
        if isinstance(function, types.BuiltinFunctionType) and name not in passed
    }
    return {name: _refused(world, name, function) for name, function in functions.items()}


def _refused(world: World, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    what = f"{_WHAT.get(name, 'calls a function of the system that is not modelled')} (os.{name})"

    def call(*args: Any, **kwargs: Any) -> Any:
        if world.controls():
            world.refuse(f"{what}, which cannot be controlled")
        return real(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = real.__doc__
    return call
