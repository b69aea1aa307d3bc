"""`copyreg._slotnames`, which C code calls when it takes the state of an object: for `copy` and `pickle`.

It keeps what it found in the class, as `__slotnames__`. So the first copy of an object of a class changes the class,
which code that runs over `vars(class)` sees. For a class that has it, C code does not call.
"""

# pyright: reportPrivateUsage=false
# What is replaced is private to copyreg.

from __future__ import annotations

import copyreg
from typing import Any

from dpor.asleep import Asleep
from dpor.runtime import current
from dpor.runtime.patchset import PatchSet

_KEPT = "__slotnames__"


def patch_slot_names(patches: PatchSet) -> None:
    """Let the names of a class's slots be stored by a visible operation, which is undone after the execution."""
    real: Any = vars(copyreg)["_slotnames"]

    def _slotnames(cls: type) -> Any:
        host = current.active_host()
        if host is None or _KEPT in vars(cls) or type(cls).__setattr__ is not type.__setattr__:
            return real(cls)
        with Asleep(host):
            names = real(cls)
            kept = _KEPT in vars(cls)
            if kept:
                type.__delattr__(cls, _KEPT)
        if kept:
            host.store_attribute(names, cls, _KEPT)
        host.returned(names)
        return names

    patches.replace(copyreg, "_slotnames", _slotnames)
