"""A kind of shared object with what threads do to it.

To add an operation, add its source text to `operations` of a kind: `s` is the shared object, `o` the list in which the
thread leaves what it saw. Modules are imported, and definitions of `definitions.py` put in front, if the text names
them. What it leaves must be the same in each run of the same schedule: no addresses, no order of hashes, no time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """`make` is the expression for a new object, `look` the one that shows its final state.

    An iteration over one that is `endless` never ends by itself.
    """

    name: str
    make: str
    look: str
    operations: tuple[str, ...]
    endless: bool = False
