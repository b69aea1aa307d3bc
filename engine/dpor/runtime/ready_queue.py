"""What a turn of an event loop makes ready, and how the ends of those that somebody waits for complete a group.

The kernel says in `execution/turns.rs` why groups are told of apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpor.runtime.callbacks import counted_group, is_same_counter
from dpor.runtime.turn_events import number_of

if TYPE_CHECKING:
    from dpor._kernel import Host


def note_added(host: Host, handle: Any, ready: Iterable[Any]) -> None:
    """A callback is about to be appended to those that are `ready`."""
    group = counted_group(handle)
    if group is None:
        host.touch_ready(True)
        return
    waiting = sum(is_same_counter(other, handle) for other in ready)
    host.end_in_group(number_of(host, group.owner), group.left - waiting <= 1)
