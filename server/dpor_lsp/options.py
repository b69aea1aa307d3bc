"""What each option accepts, whether it comes as text from the command line or as a value from pyproject.toml."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError

ALGORITHMS = ("optimal", "source", "exhaustive", "random")
MEMORY_MODELS = ("sc", "tso", "pso", "rc11")
RACES = ("off", "warn", "error")
FORMATS = ("text", "json", "sarif", "github", "junit")

DEFAULT_MEMORY_LIMIT = 2 << 30
DEFAULT_HANG_TIMEOUT = 20.0


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'? ` for the name in `known` that is closest to `word`, or an empty string."""
    # Imported here because only a mistyped word needs it.
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? " if close else ""


@dataclass(frozen=True)
class Choice:
    """An option that takes one of a few names."""

    names: tuple[str, ...]

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return "one of " + ", ".join(self.names)

    def value(self, given: object) -> str | None:
        """Return the name, or None if `given` is none of them."""
        return given if isinstance(given, str) and given in self.names else None

    def hint(self, given: object) -> str:
        """Return the nearest name as a question, or an empty string."""
        return did_you_mean(str(given), self.names)


@dataclass(frozen=True)
class Whole:
    """An option that takes a whole number of at least `least`."""

    least: int

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return f"a whole number of at least {self.least}"

    def value(self, given: object) -> int | None:
        """Return the number, or None if `given` is not one that is accepted."""
        if isinstance(given, str):
            try:
                given = int(given)
            except ValueError:
                return None
        if isinstance(given, bool) or not isinstance(given, int):
            return None
        return given if given >= self.least else None

    def hint(self, given: object) -> str:
        """Return an empty string: there is no nearest number."""
        return ""


@dataclass(frozen=True)
class Seconds:
    """An option that takes a positive, finite number of seconds."""

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return "a number of seconds above 0"

    def value(self, given: object) -> float | None:
        """Return the seconds, or None if `given` is not a positive finite number."""
        if isinstance(given, str):
            try:
                given = float(given.removesuffix("s"))
            except ValueError:
                return None
        if isinstance(given, bool) or not isinstance(given, int | float):
            return None
        return float(given) if 0 < given < float("inf") else None

    def hint(self, given: object) -> str:
        """Return an empty string: there is no nearest number."""
        return ""


@dataclass(frozen=True)
class Size:
    """An option that takes an amount of memory, such as `512M` or `2G`; 0 stands for no limit."""

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return "a size such as 512M or 2G of at least 64M, or 0 for no limit"

    def value(self, given: object) -> int | None:
        """Return the number of bytes, or None if `given` is not a size that a worker can live with."""
        match = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", str(given).strip().lower())
        if match is None:
            return None
        size = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]
        return size if size == 0 or size >= 64 << 20 else None

    def hint(self, given: object) -> str:
        """Return an empty string: there is no nearest size."""
        return ""


Kind = Choice | Whole | Seconds | Size

ENGINE_OPTIONS: dict[str, Kind] = {
    "algorithm": Choice(ALGORITHMS),
    "memory_model": Choice(MEMORY_MODELS),
    "k": Whole(1),
    "timeout": Seconds(),
    "max_executions": Whole(1),
    "max_steps": Whole(1),
    "preemption_bound": Whole(0),
    "seed": Whole(0),
    "races": Choice(RACES),
}
"""The options that the engine gets; a model's decorator may name them too."""

RUN_OPTIONS: dict[str, Kind] = {
    "jobs": Whole(1),
    "memory_limit": Size(),
    "hang_timeout": Seconds(),
    "format": Choice(FORMATS),
}
"""The options that say how models are run and reported."""


def read_option(name: str, given: object, *, shown_as: str | None = None) -> Any:
    """Return the value that `given` (text or a typed value) stands for as the option `name`.

    Raises DporError (DPOR105) if the option does not accept it; `shown_as` is how the message names the option.
    """
    kind = ENGINE_OPTIONS.get(name) or RUN_OPTIONS[name]
    value = kind.value(given)
    if value is None:
        raise DporError(
            Code.BAD_OPTION,
            f"{shown_as or name} does not accept {given!r}",
            f"{kind.hint(given)}it accepts {kind.accepted}",
        )
    return value
