"""Operations that the test leaves out, each with the reason: no entry without one. The command runs them all."""

from __future__ import annotations

_APPLYING = r"\b(map|filter|starmap|takewhile|dropwhile|filterfalse|accumulate|reduce)"
_IN_C = r"(operator\.|functools\.cmp_to_key\(|\w+\.(append|index|__getitem__|get|pop|add)\b)"

FINER: dict[str, str] = {
    rf"({_APPLYING}\(|key=){_IN_C}|lru_cache\(len\)|\.most_common\(\d": (
        "a C function that other C code applies is a step for each item, which it is on free-threaded builds"
    ),
    r"\.(throw|close)\(": "a generator that an exception enters can be found running, though it may have no handler",
    r"\b[st]\.start\(\)": "a thread counts as started when start() returns, not when it begins to run",
    r"lru_cache\(maxsize=None\)|functools\.cache\b": "a lookup and what cache_info counts of it are two steps",
}
"""Operations of which a check shows more orders than the GIL lets happen: a pattern in the program, and why. An alarm
in a program that has one is explained; docs/atomicity.md says the same to users.
"""

LEFT_OUT: dict[tuple[str, str], str] = {}
"""By kind and text of the operation."""
