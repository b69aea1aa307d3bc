"""Finding out that a model does something that no schedule controls, and saying so.

Three nets: an audit hook for what CPython announces; replacements for calls that block without being announced; a
look at the process's threads, now and then, for those that were started in C.
"""

from __future__ import annotations

import errno
import functools
import itertools
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from dpor.results import AssumptionKind
from dpor.runtime import current
from dpor.runtime.mode import Mode
from dpor.runtime.outside.asking import (
    is_apart,
    is_called_by_stand_in,
    is_for_the_checker,
    is_importing,
)
from dpor.runtime.outside.real import HARMLESS_DEVICES, SCRATCH, system
from dpor.runtime.patchset import PatchSet

_EVENTS = {
    "_posixsubprocess.fork_exec": "starts a process",
    "_thread.start_joinable_thread": "starts an operating system thread",
    "_thread.start_new_thread": "starts an operating system thread",
    "builtins.input": "waits for input",
    "fcntl.fcntl": "works on an open file by a way that is not seen",
    "fcntl.flock": "locks a file",
    "fcntl.ioctl": "works on an open file by a way that is not seen",
    "fcntl.lockf": "locks a file",
    "os.exec": "replaces the process",
    "os.fork": "forks the process",
    "os.forkpty": "forks the process",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "os.startfile": "starts a process",
    "os.system": "starts a process",
    "pty.spawn": "starts a process",
    "signal.pthread_kill": "sends a signal",
    "socket.bind": "opens a socket to listen on",
    "socket.connect": "connects a socket",
    "socket.getaddrinfo": "looks up a network address",
    "socket.gethostbyaddr": "looks up a network address",
    "socket.gethostbyname": "looks up a network address",
    "socket.sendmsg": "sends on a socket",
    "socket.sendto": "sends on a socket",
    "subprocess.Popen": "starts a process",
}

# Events that announce nothing that another thread, or another execution, could see. Each that is not here ends the
# check.
_HARMLESS = frozenset(
    {
        # Objects and code of the interpreter: what is done to them is seen as such.
        "array.__new__",
        "builtins.id",
        "code.__new__",
        "compile",
        "function.__new__",
        "gc.get_objects",
        "gc.get_referents",
        "gc.get_referrers",
        "import",
        "marshal.dumps",
        "marshal.load",
        "marshal.loads",
        "object.__delattr__",
        "object.__getattr__",
        "object.__setattr__",
        "pickle.find_class",
        "sys._current_exceptions",
        "sys._current_frames",
        "sys._getframe",
        "sys._getframemodulename",
        "sys.excepthook",
        "sys.set_asyncgen_hook_finalizer",
        "sys.set_asyncgen_hook_firstiter",
        "sys.set_asyncgen_hooks_finalizer",
        "sys.set_asyncgen_hooks_firstiter",
        "sys.unraisablehook",
        # Tools that watch.
        "builtins.breakpoint",
        "pdb.Pdb",
        "sys.monitoring.register_callback",
        "sys.setprofile",
        "sys.settrace",
        # Reading: by a stand-in, or by the interpreter for itself.
        "glob.glob",
        "glob.glob/2",
        "os.fwalk",
        "os.getxattr",
        "os.listdir",
        "os.listdrives",
        "os.listmounts",
        "os.listvolumes",
        "os.listxattr",
        "os.scandir",
        "os.walk",
        "pathlib.Path.glob",
        "pathlib.Path.rglob",
        "time.sleep",
        # Code in Python, which does what it does through functions with events of their own.
        "shutil.chown",
        "shutil.copyfile",
        "shutil.copymode",
        "shutil.copystat",
        "shutil.copytree",
        "shutil.make_archive",
        "shutil.move",
        "shutil.rmtree",
        "shutil.unpack_archive",
        "tempfile.mkdtemp",
        "tempfile.mkstemp",
        # A library that is loaded has done nothing yet, and neither has a socket.
        "ctypes.dlopen",
        "socket.__new__",
        "socket.gethostname",
        # The memory of a process is its own; a map of a file is refused by its number.
        "mmap.__new__",
        "sqlite3.connect/handle",
    }
)
# Events with a path of what is changed. Stand-ins change the scratch folder, and name open files by number.
_CHANGING = frozenset(
    {
        "os.chflags",
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.symlink",
        "os.truncate",
        "os.utime",
        "sqlite3.connect",
    }
)
# Stand-ins tell C code of variables, and put them back.
_OF_STAND_INS = frozenset({"os.putenv", "os.unsetenv"})
# Events before code in C runs that no event tells of.
_UNSEEN = {"ctypes.dlsym": "ctypes", "ctypes.dlsym/handle": "ctypes"}
# How the names of functions in C begin by which the interpreter's threads are told what to do. Whatever else a library
# does to its own data, these change what the threads of the model do next.
_OF_THREADS = (
    "PyErr_SetInterrupt",
    "PyEval_",
    "PyGILState_",
    "PyInterpreterState_",
    "PyThread",
    "Py_AddPendingCall",
    "Py_EndInterpreter",
    "Py_Finalize",
    "Py_MakePendingCalls",
    "Py_NewInterpreter",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Databases of sqlite3 that are in memory, beside the devices.
_HARMLESS_PLACES = HARMLESS_DEVICES | {"", ":memory:"}
_BYTECODE = f"{os.sep}__pycache__"

_FOR_PROCESS = "waits for a process"
_FOR_FILES = "waits for files or sockets"
_BLOCKING: tuple[tuple[Any, str, str], ...] = (
    (os, "wait", _FOR_PROCESS),
    *((select, name, _FOR_FILES) for name in ("poll", "epoll", "kqueue", "devpoll")),
    *((signal, name, "waits for a signal") for name in ("pause", "sigwait", "sigwaitinfo", "sigtimedwait")),
    *((signal, name, "sets a timer of the process") for name in ("alarm", "setitimer")),
    (signal, "pthread_sigmask", "changes which signals the process gets"),
    (socket, "socketpair", "opens a pair of sockets"),
)


# Which argument of a function that waits for a process has the options.
_OPTIONS_AT = {"wait3": 0, "wait4": 1, "waitid": 2, "waitpid": 1}

_WITHOUT_WAITING: int = getattr(os, "WNOHANG", 0)

_DEEPEST = 64


def report(what: str) -> None:
    """End the check with DPOR108 if the caller is in an execution: the model `what` (a verb phrase)."""
    host = current.active_host()
    if host is not None:
        host.end_uncontrolled(with_calls(f"{what}, which cannot be controlled"))


def with_calls(message: str) -> str:
    """Return `message` with where the caller stands after it, for `split_calls`: the kernel hands on a text only."""
    lines = [message]
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and len(lines) <= _DEEPEST:
        code = frame.f_code
        positions = next(itertools.islice(code.co_positions(), max(frame.f_lasti, 0) // 2, None), None)
        start, end, column, end_column = positions or (None, None, None, None)
        place = (start or frame.f_lineno, column, end, end_column)
        lines.append(":".join("" if item is None else str(item) for item in place) + f":{code.co_filename}")
        frame = frame.f_back
    return "\n".join(lines)


def split_calls(text: str) -> tuple[str, list[Call]]:
    """Take apart what `with_calls` made (or a message without calls): the message, and the calls, innermost first."""
    message, *lines = text.split("\n")
    calls: list[Call] = []
    for item in lines:
        *place, file = item.split(":", 4)
        line, column, end_line, end_column = (int(number) if number else None for number in place)
        calls.append(Call(file, line or 1, column, end_line, end_column))
    return message, calls


@dataclass(frozen=True)
class Call:
    """An active call: its file as its code object names it; lines count from 1, columns in bytes from 0."""

    file: str
    line: int
    column: int | None
    end_line: int | None
    end_column: int | None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _HARMLESS:
        if event == "mmap.__new__" and arguments and arguments[0] != -1:
            report("maps a file into memory (mmap.mmap)")
        return
    what = _EVENTS.get(event)
    if what is not None:
        report(f"{what} ({event})")
        return
    host = current.active_host()
    if host is None or is_apart():
        return
    if event in _UNSEEN:
        if not is_for_the_checker():
            name = arguments[-1]
            if isinstance(name, str) and name.removeprefix("_").startswith(_OF_THREADS):
                report(f"uses a function in C that acts on threads (ctypes: {name})")
            host.assume(AssumptionKind.UNSEEN_CODE.value, _UNSEEN[event])
    elif event == "exec":
        # Code from text, but for modules that are imported. That of the library comes through the checker.
        if not is_importing():
            host.assume(AssumptionKind.UNSEEN_CODE.value, arguments[0].co_filename)
    elif event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITING and not _is_scratch(path):
            report(f"writes a file by a way that is not seen ({event})")
    elif event in _OF_STAND_INS and is_called_by_stand_in():
        return
    elif event not in _CHANGING:
        # The solver is a library in C, whose calls pass through ctypes.
        if not is_for_the_checker():
            report(f"reaches outside of the interpreter ({event})")
    elif not any(_is_scratch(path) for path in arguments):
        report(f"changes files by a way that is not seen ({event})")


def _is_scratch(path: Any) -> bool:
    """Whether a path belongs to the checker, or is the number of a file that is open."""
    if isinstance(path, int):
        return True
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    text = os.fsdecode(cast("str | bytes | os.PathLike[str]", path))
    # What the import system keeps, only it reads.
    return SCRATCH in text or _BYTECODE in text or text in _HARMLESS_PLACES


@functools.cache
def install_audit_hook() -> None:
    """Install the audit hook, once in a process: hooks cannot be removed, and this one does nothing outside models."""
    sys.addaudithook(_audit)


def patch_blocking_calls(patches: PatchSet) -> None:
    """Make the calls that block without an audit event report themselves inside a model."""
    for module, name, what in _BLOCKING:
        real = getattr(module, name, None)
        if real is not None:
            patches.replace(module, name, _reporting(real, f"{what} ({module.__name__}.{name})"))
    for name, position in _OPTIONS_AT.items():
        if hasattr(os, name):
            patches.replace(os, name, _waiting_for_process(getattr(os, name), position))
    patches.replace(select, "select", _selecting(select.select))


def _waiting_for_process(real: Callable[..., Any], options_at: int) -> Callable[..., Any]:
    """A model can start no process, so that one that does not wait finds none."""
    reporting = _reporting(real, f"{_FOR_PROCESS} (os.{real.__name__})")

    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        options = args[options_at] if len(args) > options_at else kwargs.get("options")
        if current.active_host() is None or not isinstance(options, int) or not options & _WITHOUT_WAITING:
            return reporting(*args, **kwargs)
        raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))

    return call


def _selecting(real: Callable[..., Any]) -> Callable[..., Any]:
    """With a time limit of 0 it only asks, and what it learns is taken to be the same in every execution."""
    reporting = _reporting(real, f"{_FOR_FILES} (select.select)")

    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        host = current.active_host()
        if host is None or len(args) < 4 or args[3] != 0:
            return reporting(*args, **kwargs)
        found = real(*args, **kwargs)
        if any(args[:3]):
            host.assume(AssumptionKind.FIXED_WORLD.value, "select.select")
        return found

    return call


def _reporting(real: Callable[..., Any], what: str) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        report(what)
        return real(*args, **kwargs)

    return call


class ThreadWatch:
    """Notices operating system threads that appear during an execution.

    Looking costs about 10 microseconds, so only the first executions and then those whose number is a power of two
    are watched: a model that starts threads does so in most of its executions.
    """

    _ALWAYS = 4

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._before: set[str] | None = None

    def begin(self) -> None:
        """Note the threads that there are when an execution begins."""
        number = self._mode.host.execution
        watched = number <= self._ALWAYS or number & (number - 1) == 0
        self._before = _threads() if watched else None

    def end(self) -> None:
        """Report the threads that the execution has added."""
        if self._before is None:
            return
        appeared = _threads() - self._before
        if appeared:
            report(f"starts {len(appeared)} operating system thread(s) in native code")


def _threads() -> set[str]:
    try:
        return set(system.listdir("/proc/self/task"))
    except OSError:  # not Linux: Python's own threads are all that can be seen
        return {str(thread) for thread in sys._current_frames()} | {  # pyright: ignore[reportPrivateUsage]
            str(thread.native_id) for thread in threading.enumerate() if thread.native_id is not None
        }
