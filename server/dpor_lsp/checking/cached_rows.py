"""What the cache's rows hold, and whether a row that is read fits what is asked: nothing of it is believed unseen.

A digest over a row tells damage and edits by hand. It is no signature: who can write the file can make a row that fits.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from dpor.assumptions import is_known_to_hold
from dpor.checkpoints import VERSION as CHECKPOINT_VERSION
from dpor.checkpoints import Checkpoint, read_choices
from dpor.codes import Code
from dpor.contents import UNSTABLE, Kind, key_of, parts_of
from dpor.counterexample.schedule import decode, model_id
from dpor.errors import DporError
from dpor.results import VERSION, ModelResult, Reason, Verdict, from_json
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.options import ENGINE_OPTIONS, read_option

_NOT_KEPT = {Code.TIMEOUT, Code.CANCELLED}
_COUNTS = ("executions", "blocked", "redundant", "events")

Record = TypeVar("Record", ModelResult, Checkpoint)


class MisfitError(Exception):
    """A row is damaged, or is not what was kept for what is asked."""


@dataclass(frozen=True)
class Counterexample:
    """The last counterexample of a model: its schedule, and the parameters and options of the check."""

    schedule: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]


def digest(*texts: object) -> str:
    """What a row says of its other columns."""
    return hashlib.sha256(json.dumps([str(text) for text in texts]).encode()).hexdigest()


def may_be_kept(result: ModelResult) -> bool:
    """Whether the same check of the same code would say the same."""
    if result.verdict is Verdict.ERROR or (result.reason and result.reason.code in _NOT_KEPT):
        return False
    return all(map(is_known_to_hold, result.assumptions))


def read_result(target: CheckTarget, text: object) -> ModelResult:
    """The result that a row holds for a check. Raises MisfitError if it cannot be one of this check."""
    result = _read(ModelResult, text)
    info = target.info
    _require(
        (result.id, result.file, result.version) == (info.id, info.file, VERSION), "it is another model's"
    )
    _require_counts(result)
    _require(may_be_kept(result), "such a result is not kept")
    violated = result.verdict is Verdict.VIOLATED
    _require(violated == bool(result.violations), "its verdict and its violations do not fit")
    if not violated:
        has_reason = isinstance(result.reason, Reason)
        _require((result.verdict is Verdict.INCOMPLETE) == has_reason, "its reason does not fit")
    wanted = {**target.info.options, **target.request.options}
    for name, said in (("algorithm", result.algorithm), ("memory_model", result.memory_model)):
        _require(wanted.get(name, said) == said, f"it was made with another {name}")
    for name, value in target.request.parameters.items():
        plain = value is None or isinstance(value, bool | int | str)
        _require(not plain or result.parameters.get(name, value) == value, "its parameters do not fit")
    for violation in (*result.violations, *result.warnings):
        _require_schedule(violation.schedule, info.id)
    return result


def read_checkpoint(text: object) -> Checkpoint:
    """What a row holds of a check that was stopped. Raises MisfitError for anything else."""
    checkpoint = _read(Checkpoint, text)
    _require(checkpoint.version == CHECKPOINT_VERSION, "it is of another version")
    _require_counts(checkpoint)
    _require(0 <= checkpoint.fraction <= 1, "its numbers are out of range")
    _require(
        all(isinstance(one, str) for one in cast("tuple[object, ...]", checkpoint.frontiers)),
        "its frontier is no text",
    )
    try:
        for fact in checkpoint.learned:
            read_choices(fact.schedule)
    except (ValueError, OverflowError) as error:
        raise MisfitError(f"it cannot be read ({error})") from error
    return checkpoint


def read_counterexample(model: str, schedule: object, parameters: object, options: object) -> Counterexample:
    """The counterexample that a row holds for a model. Raises MisfitError for what is none."""
    _require_schedule(schedule, model)
    given, set_to = _mapping(parameters), _mapping(options)
    try:
        for name, value in set_to.items():
            _require(name in ENGINE_OPTIONS, f"there is no option {name!r}")
            if value is not None:
                read_option(name, value)
    except DporError as error:
        raise MisfitError(error.message) from error
    return Counterexample(cast(str, schedule), given, set_to)


def stored_contents(contents: Mapping[str, str], root: Path) -> str | None:
    """What a result rests on, with paths relative to the root where they are below; None if it changed meanwhile."""
    if UNSTABLE in contents.values():
        return None
    stored: dict[str, str] = {}
    for key, value in contents.items():
        kind, path, module = parts_of(key)
        stored[key_of(kind, _stored_path(path, root), module)] = value
    return json.dumps(stored, sort_keys=True)


def read_contents(text: object, root: Path) -> dict[str, str]:
    """What a row rests on, with absolute paths. Raises MisfitError for anything else."""
    found: dict[str, str] = {}
    for key, value in cast("dict[str, object]", _mapping(text)).items():
        try:
            kind, path, module = parts_of(key)
        except ValueError as error:
            raise MisfitError(f"it rests on {key!r}") from error
        if not isinstance(value, str) or "\0" in path:
            raise MisfitError(f"it rests on {key!r}")
        absolute = path if kind is Kind.CURRENT_FOLDER else str(root / path)
        found[key_of(kind, absolute, module)] = value
    return found


def _stored_path(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix() if path and Path(path).is_relative_to(root) else path


def _read(kind: type[Record], text: object) -> Record:
    try:
        return from_json(kind, _mapping(text))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise MisfitError(f"it cannot be read ({type(error).__name__})") from error


def _mapping(text: object) -> dict[str, Any]:
    _require(isinstance(text, str), "it is no text")
    try:
        data: object = json.loads(cast(str, text))
    except (ValueError, RecursionError) as error:
        raise MisfitError("it is no JSON") from error
    _require(isinstance(data, dict), "it is no mapping")
    return cast("dict[str, Any]", data)


def _require_counts(record: ModelResult | Checkpoint) -> None:
    numbers: Iterable[int] = (getattr(record, name) for name in _COUNTS)
    seconds = record.seconds
    in_range = all(0 <= number < 1 << 63 for number in numbers) and math.isfinite(seconds) and seconds >= 0
    _require(in_range, "its numbers are out of range")


def _require_schedule(schedule: object, model: str) -> None:
    _require(isinstance(schedule, str), "its schedule is no text")
    try:
        found = decode(cast(str, schedule))
    except DporError as error:
        raise MisfitError(f"its schedule is none ({error.message})") from error
    file, _, name = model.rpartition("::")
    _require(found.model == model_id(file, name), "its schedule is another model's")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise MisfitError(otherwise)
