"""The functions of the operating system as they were before anything stood in for them."""

from __future__ import annotations

import builtins
import io
import os
import time
import types

# Kept at import, which is before a check begins: a stand-in that called another one would see its own world.
system = types.SimpleNamespace(**vars(os))
open_file = builtins.open
RawFile = io.FileIO
now_ns = time.time_ns

# What the names of scratch folders begin with, by which an audit event tells them.
SCRATCH = "dpor-scratch-"
# Devices that neither keep nor tell anything.
HARMLESS_DEVICES = frozenset({os.devnull, "/dev/zero", "/dev/full"})
