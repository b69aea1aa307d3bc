"""The census as it was looked at: a line a mark and owner, with the names that have it."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from pathlib import Path

FILE = Path(__file__).with_name("marks.txt")


def marked() -> dict[str, str]:
    """Mark by name (`list.append`)."""
    found: dict[str, str] = {}
    head = ""
    for line in FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else ():
        if line.startswith("    "):
            owner, mark = head.split()
            found |= dict.fromkeys((f"{owner}.{name}" for name in line.split()), mark)
        else:
            head = line
    return found


def written(marks: dict[str, str]) -> str:
    """The text of the table."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry, mark in marks.items():
        owner, _, name = entry.partition(".")
        groups[owner, mark].append(name)
    lines: list[str] = []
    for (owner, mark), names in sorted(groups.items()):
        lines.append(f"{owner} {mark}")
        lines += textwrap.wrap(" ".join(sorted(names)), 110, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"
