"""Reads the list of known differences, which can only shrink."""

from __future__ import annotations

import enum
import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fidelity.comparison import Compared, Finding

_LIST = Path(__file__).with_name("known_differences.toml")
_CODE = re.compile(r"DPOR\d{3}")


class Category(enum.Enum):
    """Why a difference is none that is to be fixed."""

    REAL_TIME = "real-time"
    UNCONTROLLED = "uncontrolled"
    LIFETIME = "lifetime"
    REPORTED = "reported"


@dataclass(frozen=True)
class Known:
    """A difference that is known: of which methods, why, and for a refusal its code.

    `versions` are the versions of Python that have it, all if there are none.
    """

    category: Category
    reason: str
    methods: frozenset[str]
    code: str = ""
    versions: frozenset[str] = frozenset()

    def is_of(self, version: str) -> bool:
        """Whether it is one of this version of Python."""
        return not self.versions or version in self.versions


class KnownError(Exception):
    """The list is not as it has to be."""


def known_differences(path: Path = _LIST) -> list[Known]:
    """The list. Raises KnownError for an entry that lacks something, or a method that is in two."""
    entries = [_read(entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])]
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        for method in entry.methods:
            for version in entry.versions or {"every"}:
                if (method, version) in seen:
                    raise KnownError(f"{method} is in the list twice")
                seen.add((method, version))
    return entries


def _read(entry: dict[str, Any]) -> Known:
    try:
        known = Known(
            Category(entry["category"]),
            entry["reason"],
            frozenset(entry["methods"]),
            entry.get("code", ""),
            frozenset(entry.get("versions", ())),
        )
    except (KeyError, ValueError) as error:
        raise KnownError(f"an entry lacks or has wrong: {error}") from error
    if not known.reason or not known.methods:
        raise KnownError(f"an entry says nothing: {entry}")
    if (known.category is Category.UNCONTROLLED) != bool(_CODE.fullmatch(known.code)):
        raise KnownError(f"a refusal has its code, and nothing else has one: {known.reason}")
    return known


def version() -> str:
    """The version of Python as the list names it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Judged:
    """What a run means: differences and refusals that are not in the list, and entries of it that are none any more."""

    unknown: tuple[Compared, ...]
    gone: tuple[str, ...]


def judge(found: Iterable[Compared], entries: Iterable[Known]) -> Judged:
    """Hold the methods that were run against the list."""
    listed = {method: entry for entry in entries if entry.is_of(version()) for method in entry.methods}
    unknown: list[Compared] = []
    gone: list[str] = []
    for one in found:
        entry = listed.get(one.name)
        if one.finding is Finding.UNSTEADY:
            continue
        if one.finding is Finding.SAME:
            if entry is not None:
                gone.append(one.name)
        elif entry is None or entry.code != one.code:
            unknown.append(one)
    return Judged(tuple(unknown), tuple(gone))
