"""What each option accepts, whether it comes as text from the command line or as a value from pyproject.toml."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError
from dpor.options import OPTIONS, Option, shown_value
from dpor.options import Kind as EngineKind

FORMATS = ("text", "json", "sarif", "github", "junit")

DEFAULT_MEMORY_LIMIT = 2 << 30
DEFAULT_HANG_TIMEOUT = 20.0
_MOST_JOBS = 4096
_DECORATOR_ONLY = ("expect", "instrument")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'? ` for the name in `known` that is closest to `word`, or an empty string."""
    # Imported here because only a mistyped word needs it.
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? " if close else ""


class TooLargeError(ValueError):
    """A number is larger than an option accepts; the text says what the largest one is."""


@dataclass(frozen=True)
class Choice:
    """An option that takes one of a few names."""

    names: tuple[str, ...]

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return "one of " + ", ".join(self.names)

    def value(self, given: object) -> str:
        """Return the name; raises ValueError if `given` is none of them."""
        if isinstance(given, str) and given in self.names:
            return given
        raise ValueError


@dataclass(frozen=True)
class Flag:
    """An option that is true or false."""

    accepted = "true or false"

    def value(self, given: object) -> bool:
        """Return the truth value; raises ValueError if `given` is none."""
        if isinstance(given, bool):
            return given
        if given in ("true", "false"):
            return given == "true"
        raise ValueError


@dataclass(frozen=True)
class Whole:
    """An option that takes a whole number, of at least `least` if that is given, or the word `unlimited`."""

    least: int | None = None
    most: int | None = None
    unlimited: str | None = None

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        least = "" if self.least is None else f" of at least {self.least}"
        return "a whole number" + least + (f", or {self.unlimited}" if self.unlimited else "")

    def value(self, given: object) -> int | None:
        """Return the number, None if it is unlimited; raises ValueError if `given` is not one that is accepted."""
        if given is not None and given == self.unlimited:
            return None
        number = int(given) if isinstance(given, str) else given
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError
        if self.least is not None and number < self.least:
            raise ValueError
        if self.most is not None and number > self.most:
            raise TooLargeError(f"it accepts at most {self.most}")
        return number


@dataclass(frozen=True)
class Seconds:
    """An option that takes a positive number of seconds that a timer of the system can count."""

    most: int = 10**9

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return f"a number of seconds above 0, up to {self.most}"

    def value(self, given: object) -> float:
        """Return the seconds; raises ValueError if `given` is not such a number."""
        number = float(given.removesuffix("s")) if isinstance(given, str) else given
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= self.most:
            raise ValueError
        return float(number)


@dataclass(frozen=True)
class Size:
    """An option that takes an amount of memory, such as `512M` or `2G`; 0 stands for no limit."""

    accepted = "a size such as 512M or 2G of at least 64M, or 0 for no limit"
    most = 2**62

    def value(self, given: object) -> int:
        """Return the number of bytes; raises ValueError if `given` is not a size that a worker can live with."""
        text = given if isinstance(given, str) else str(given) if isinstance(given, int) else ""
        match = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", text.strip().lower())
        if match is None:
            raise ValueError
        size = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]
        if 0 < size < 64 << 20 or size > self.most:
            raise ValueError
        return size


@dataclass(frozen=True)
class Thread:
    """An option that takes the path of a thread; the engine knows what one looks like."""

    option: Option

    @property
    def accepted(self) -> str:
        """What the option accepts, in words."""
        return self.option.kind.value

    def value(self, given: object) -> str:
        """Return the path; raises ValueError if `given` is none."""
        try:
            return self.option.check(given)
        except DporError as error:
            raise ValueError from error


Kind = Choice | Flag | Whole | Seconds | Size | Thread


def _kind(option: Option) -> Kind:
    if option.kind is EngineKind.CHOICE:
        return Choice(option.choice_names)
    if option.kind is EngineKind.FLAG:
        return Flag()
    if option.kind is EngineKind.THREAD:
        return Thread(option)
    if option.kind is EngineKind.SECONDS:
        return Seconds() if option.maximum is None else Seconds(option.maximum)
    return Whole(option.minimum, option.maximum, option.unlimited)


ENGINE_OPTIONS: dict[str, Kind] = {
    name: _kind(option) for name, option in OPTIONS.items() if name not in _DECORATOR_ONLY
}
"""The options that the engine gets; a model's decorator may name them too."""

RUN_OPTIONS: dict[str, Kind] = {
    "jobs": Whole(1, _MOST_JOBS),
    "memory_limit": Size(),
    "hang_timeout": Seconds(),
    "format": Choice(FORMATS),
}
"""The options that say how models are run and reported."""


def read_option(name: str, given: object, *, shown_as: str | None = None) -> Any:
    """Return the value that `given` (text or a typed value) stands for as the option `name`.

    An option of the engine that may be absent accepts `none`. Raises DporError (DPOR105) if the option does not
    accept what is given; `shown_as` is how the message names the option.
    """
    kind = ENGINE_OPTIONS.get(name) or RUN_OPTIONS[name]
    optional = name in OPTIONS and OPTIONS[name].optional
    if optional and given == "none":
        return None
    try:
        return kind.value(given)
    except TooLargeError as error:
        message = f"{shown_as or name} does not accept {shown_value(given)}"
        raise DporError(Code.BAD_OPTION, message, str(error)) from None
    except ValueError:
        hint = did_you_mean(given, kind.names) if isinstance(kind, Choice) and isinstance(given, str) else ""
        accepted = f"it accepts {kind.accepted}" + (", or none" if optional else "")
        raise DporError(
            Code.BAD_OPTION, f"{shown_as or name} does not accept {shown_value(given)}", hint + accepted
        ) from None
