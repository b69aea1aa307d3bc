"""All kinds by name."""

from __future__ import annotations

from oracle.tables.calls import CALLS
from oracle.tables.containers import CONTAINERS
from oracle.tables.entered import ENTERED
from oracle.tables.kinds import Kind
from oracle.tables.library import LIBRARY
from oracle.tables.nested import NESTED
from oracle.tables.objects import OBJECTS
from oracle.tables.order import ORDER
from oracle.tables.primitives import PRIMITIVES
from oracle.tables.world import WORLD

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (*CONTAINERS, *NESTED, *OBJECTS, *CALLS, *ENTERED, *LIBRARY, *ORDER, *WORLD, *PRIMITIVES)
}
