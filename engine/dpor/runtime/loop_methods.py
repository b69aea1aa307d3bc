"""Methods of an event loop of a model that say who uses it, and those that are refused."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpor.runtime.thread_bound import note_use
from dpor.runtime.uncontrolled import report

if TYPE_CHECKING:
    from dpor.runtime.event_loop import EventLoop

# asyncio's own code hands results over to other threads in a way that is explored.
_OF_LOOPS = (
    "asyncio.",
    "dpor.runtime.asyncio_patches",
    "dpor.runtime.event_loop",
    "dpor.runtime.loop_policies",
)
_FOR_ONE_THREAD = (
    "call_exception_handler",
    "close",
    "get_debug",
    "get_exception_handler",
    "get_task_factory",
    "is_closed",
    "is_running",
    "run_forever",
    "run_until_complete",
    "set_debug",
    "set_default_executor",
    "set_exception_handler",
    "set_task_factory",
    "stop",
)
_NETWORK = (
    "add_reader",
    "add_writer",
    "remove_reader",
    "remove_writer",
    "connect_accepted_socket",
    "connect_read_pipe",
    "connect_write_pipe",
    "create_connection",
    "create_datagram_endpoint",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "getaddrinfo",
    "getnameinfo",
    "sendfile",
    "sock_accept",
    "sock_connect",
    "sock_recv",
    "sock_recv_into",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendall",
    "sock_sendfile",
    "sock_sendto",
    "start_tls",
    "subprocess_exec",
    "subprocess_shell",
)


def note_users(owner: type[EventLoop]) -> None:
    """Have the methods that are made for the thread of the loop say who uses it."""
    for name in _FOR_ONE_THREAD:
        setattr(owner, name, _noting(getattr(owner, name)))


def refuse_network(owner: type[EventLoop]) -> None:
    """Refuse what reaches the network or makes processes."""
    for name in _NETWORK:
        setattr(owner, name, _refused(name))


def _noting(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(self: EventLoop, *args: Any, **kwargs: Any) -> Any:
        asking: str = sys._getframe(1).f_globals.get("__name__", "")
        # What is done before any thread is started comes first for all of them.
        if not asking.startswith(_OF_LOOPS):
            self.note_control()
            if self.dpor_execution.threads:
                note_use(self)
        return real(self, *args, **kwargs)

    return call


def _refused(name: str) -> Callable[..., Any]:
    def refuse(self: EventLoop, *args: Any, **kwargs: Any) -> Any:
        report(f"uses the network or processes (loop.{name})")
        raise NotImplementedError(name)

    refuse.__name__ = name
    return refuse
