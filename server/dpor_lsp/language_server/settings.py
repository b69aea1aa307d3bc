"""The settings that an editor sends: section `dpor` of its configuration, checked before anything uses them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.options import did_you_mean, read_option


class CheckOn(enum.Enum):
    """When models are checked without being asked to."""

    SAVE = "save"
    TYPE = "type"
    MANUAL = "manual"


DEFAULT_TIMEOUT = 60.0
"""Seconds after which a check ends in the editor if neither model, project nor setting says otherwise."""


@dataclass(frozen=True)
class EditorSettings:
    """What the user set; None leaves it to the model and the project. `memory_limit` is in bytes."""

    check_on: CheckOn = CheckOn.SAVE
    interpreter: str | None = None
    jobs: int | None = None
    timeout: float | None = None
    memory_limit: int | None = None
    max_executions: int | None = None
    algorithm: str | None = None
    memory_model: str | None = None
    strict: bool | None = None
    code_lens: bool = True
    inlay_hints: bool = True
    hints: bool = True
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def options(self) -> dict[str, Any]:
        """The engine options among the settings, which win over a model's own."""
        names = ("timeout", "max_executions", "algorithm", "memory_model", "strict")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


_NAMES = {
    "checkOn": "check_on",
    "interpreter": "interpreter",
    "jobs": "jobs",
    "timeout": "timeout",
    "memoryLimit": "memory_limit",
    "maxExecutions": "max_executions",
    "algorithm": "algorithm",
    "memoryModel": "memory_model",
    "strict": "strict",
    "codeLens": "code_lens",
    "inlayHints": "inlay_hints",
    "hints": "hints",
}
SETTING_NAMES = frozenset(_NAMES)
_CLIENT_ONLY = frozenset({"importStrategy", "args", "trace", "path"})
"""Settings that the extension reads and the server has nothing to do with."""


def read_settings(given: object) -> EditorSettings:
    """Read what a client sent; what is not accepted is left at its default and named in `problems`."""
    if given is None:
        return EditorSettings()
    if not isinstance(given, Mapping):
        return EditorSettings(problems=(f"the settings of dpor are no object but {given!r}",))
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in cast("Mapping[str, object]", given).items():
        if name in _CLIENT_ONLY:
            continue
        own = _NAMES.get(name)
        if own is None:
            known = ", ".join(sorted(_NAMES))
            problems.append(f"there is no setting dpor.{name}: {did_you_mean(name, _NAMES)}it knows {known}")
            continue
        try:
            values[own] = _value(name, own, value)
        except DporError as error:
            problems.append(f"{error.message}: {error.fix}")
    return EditorSettings(**{**_defaults(), **values}, problems=tuple(problems))


def _defaults() -> dict[str, Any]:
    return {item.name: item.default for item in fields(EditorSettings) if item.name != "problems"}


def _value(name: str, own: str, value: object) -> Any:
    if value is None or value == "":
        return _defaults()[own]
    if own == "check_on":
        try:
            return CheckOn(value)
        except ValueError:
            raise _refused(name, value, "it accepts save, type or manual") from None
    if own in ("code_lens", "inlay_hints", "hints"):
        if not isinstance(value, bool):
            raise _refused(name, value, "it accepts true or false")
        return value
    if own == "interpreter":
        if not isinstance(value, str):
            raise _refused(name, value, "it accepts the path of a Python interpreter")
        return value
    if own == "memory_limit":
        if isinstance(value, bool) or not isinstance(value, int) or (value != 0 and value < 64):
            raise _refused(name, value, "it accepts MiB, at least 64, or 0 for no limit")
        return value << 20
    return read_option(own, value, shown_as=f"dpor.{name}")


def _refused(name: str, value: object, fix: str) -> DporError:
    return DporError(Code.BAD_OPTION, f"dpor.{name} does not accept {value!r}", fix)
