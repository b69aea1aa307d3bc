"""The text form of a schedule: what people copy, pin in tests and replay.

`dpor1:` followed by base64url (without padding) of the zlib-compressed compact JSON of one list:
[model, parameters, fingerprint, memory model, threads, operations, targets, choices, numbers], where
`numbers` holds four indices a step into the four tables before it, one after the other. A tenth entry, `true`, follows
if loads read from the writes that their steps name, or `"looks"` if only waits for predicates are loads; then
`"library"` if queues ran on the library's own code, and the number of the failure if it is not 0. zlib's
checksum finds garbled text.
"""

from __future__ import annotations

import ast
import base64
import binascii
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Generic, TypeVar, cast

from dpor.codes import Code
from dpor.errors import DporError

VERSION = 1

Choice = int | str | bool | None

_LOOKS = "looks"
_LIBRARY = "library"
_POOLS = "pools"
_THREAD = re.compile(r"main(\.\d{1,5})*(!\d{1,9})?")
# The tables of threads, operations, targets and choices, and the numbers of the steps.
_LISTS = 5
_LARGEST = 64 * 1024 * 1024
_SHAPE = re.compile(r"dpor(\d+):([A-Za-z0-9_-]*)")

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ScheduleStep:
    """One step of a schedule: the thread's spawn path, the operation's word, the target's readable name.

    `choice` is what the step's outcome was where it could have had another one (which option `choose` drew,
    whether a timed wait timed out), None where the thread alone decides. Of a load that reads from a write of
    its choice it is the number of that write's step, counted from 1; 0 for the initial value.
    """

    thread: str
    operation: str
    target: str | None = None
    choice: Choice = None

    def __str__(self) -> str:
        target = f" {self.target}" if self.target is not None else ""
        choice = f" -> {self.choice}" if self.choice is not None else ""
        return f"{self.thread}: {self.operation}{target}{choice}"


@dataclass(frozen=True)
class Schedule:
    """A sequence of choices that leads a model to one execution.

    `model` is `<file name>::<model name>` without folders, so that it means the same on every machine;
    `fingerprint` stands for the model's code when the schedule was made; `chosen_reads` says that loads read from the
    writes that their steps name, not from what memory holds; `waits_by_spinning` that a wait for a predicate is a loop
    whose loads are steps, as it always is then; `library_queues` and `library_pools` that queues, and futures and
    pools, ran on the library's own code. `failure` says which of the failures in the execution is meant: 0 is the
    first, which ends it; later ones are of threads that went on after it.
    """

    model: str
    steps: tuple[ScheduleStep, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fingerprint: str = ""
    memory_model: str = "sc"
    chosen_reads: bool = False
    waits_by_spinning: bool = False
    library_queues: bool = False
    library_pools: bool = True
    failure: int = 0


def model_id(file: str, name: str) -> str:
    """The machine-independent id of a model: the file's base name and the model's name."""
    return f"{PurePath(file.replace(chr(92), '/')).name}::{name}"


def encode(schedule: Schedule) -> str:
    """Turn a schedule into its text form: one word without white space.

    Parameters that are no Python literals are left out: they can only be the model's own defaults.
    """
    threads, operations = _Table[str](), _Table[str]()
    targets, choices = _Table[str | None](), _Table[Choice]()
    numbers: list[int] = []
    for step in schedule.steps:
        numbers += (
            threads.index(step.thread),
            operations.index(step.operation),
            targets.index(step.target),
            choices.index(step.choice),
        )
    parameters = {
        name: text
        for name, text in ((name, _literal(value)) for name, value in sorted(schedule.parameters.items()))
        if text is not None
    }
    content = [
        schedule.model,
        parameters,
        schedule.fingerprint,
        schedule.memory_model,
        threads.entries,
        operations.entries,
        targets.entries,
        choices.entries,
        numbers,
        *([True] if schedule.chosen_reads else [_LOOKS] if schedule.waits_by_spinning else ()),
        *([_LIBRARY] if schedule.library_queues else ()),
        *([] if schedule.library_pools else [_POOLS]),
        *([schedule.failure] if schedule.failure else ()),
    ]
    data = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
    text = base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
    return f"dpor{VERSION}:{text}"


def decode(text: str) -> Schedule:
    """Read a schedule's text form; white space and line breaks anywhere in it are ignored.

    Raises DporError (BAD_SCHEDULE) that says what is wrong with the text: not a schedule, another version's,
    cut off, or changed.
    """
    packed = "".join(text.split())
    if not packed:
        raise _bad("the schedule is empty")
    shape = _SHAPE.fullmatch(packed)
    if shape is None:
        if not re.match(r"dpor\d+:", packed):
            raise _bad(f"a schedule starts with 'dpor{VERSION}:', this text with {packed[:12]!r}")
        stray = re.sub(r"[A-Za-z0-9_-]", "", packed.partition(":")[2])[0]
        raise _bad(f"the schedule contains {stray!r}, which no schedule does")
    version, body = shape.groups()
    if version.lstrip("0") != str(VERSION):
        raise _bad(
            f"the schedule is in format {version}, this version of dpor reads format {VERSION}",
            "replay it with the version that made it, or check the model again",
        )
    content = _unpack(body)
    try:
        return _build(json.loads(content))
    except (ValueError, TypeError, IndexError, SyntaxError, RecursionError, MemoryError) as error:
        raise _bad("the schedule's content does not have the shape of a schedule") from error


def explain_difference(expected: Sequence[ScheduleStep], actual: Sequence[ScheduleStep]) -> str | None:
    """Compare the steps of a schedule with those that a replay took.

    Returns None if they agree, else one sentence that names the first step at which they do not.
    """
    for number, (wanted, seen) in enumerate(itertools.zip_longest(expected, actual), start=1):
        if wanted == seen:
            continue
        if seen is None:
            return f"step {number}: the schedule goes on with [{wanted}], but the execution has ended"
        if wanted is None:
            return f"step {number}: the schedule has ended, but the execution goes on with [{seen}]"
        return f"step {number}: the schedule has [{wanted}], the model now does [{seen}]"
    return None


class _Table(Generic[Entry]):
    """Distinct entries in order of first use; True and 1 are distinct."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._index: dict[tuple[type, Entry], int] = {}

    def index(self, entry: Entry) -> int:
        number = self._index.setdefault((type(entry), entry), len(self.entries))
        if number == len(self.entries):
            self.entries.append(entry)
        return number


def _unpack(body: str) -> bytes:
    try:
        data = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _bad("the schedule is cut off or has lost characters") from error
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, _LARGEST)
    except zlib.error as error:
        raise _bad("the schedule was changed: its checksum does not fit") from error
    if unpacker.unconsumed_tail:
        raise _bad("the schedule is unreasonably large")
    if not unpacker.eof:
        raise _bad("the schedule is cut off: its end is missing")
    if unpacker.unused_data:
        raise _bad("the schedule has something else appended to it")
    return content


def _build(content: Any) -> Schedule:
    model, parameters, fingerprint, memory_model, *others = _list(content)
    threads, operations, targets, choices, numbers = map(_list, others[:_LISTS])
    rest: list[Any] = others[_LISTS:]
    failure = rest.pop() if rest and type(rest[-1]) is int else 0
    pools = rest[-1:] == [_POOLS]
    if pools:
        rest.pop()
    library = rest[-1:] == [_LIBRARY]
    if library:
        rest.pop()
    if rest not in ([], [True], [_LOOKS]) or failure < 0:
        raise ValueError("unknown entries")
    if len(numbers) % 4:
        raise ValueError("incomplete step")
    steps: list[ScheduleStep] = []
    for start in range(0, len(numbers), 4):
        thread, operation, target, choice = _indices(numbers[start : start + 4])
        steps.append(
            ScheduleStep(
                _thread(threads[thread]),
                _string(operations[operation]),
                None if targets[target] is None else _string(targets[target]),
                _choice(choices[choice]),
            )
        )
    return Schedule(
        model=_string(model),
        steps=tuple(steps),
        parameters=_parameters(parameters),
        fingerprint=_string(fingerprint),
        memory_model=_string(memory_model),
        chosen_reads=rest == [True],
        waits_by_spinning=bool(rest),
        library_queues=library,
        library_pools=not pools,
        failure=failure,
    )


def _parameters(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return _refuse(value)
    texts = cast("dict[Any, Any]", value)
    return {_string(name): ast.literal_eval(_string(text)) for name, text in texts.items()}


def _indices(numbers: Iterable[Any]) -> list[int]:
    indices = [number for number in numbers if type(number) is int and number >= 0]
    if len(indices) != 4:
        raise ValueError("not an index")
    return indices


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else _refuse(value)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else _refuse(value)


def _thread(value: Any) -> str:
    """The path of a thread, or of a store that leaves its buffer."""
    if isinstance(value, str) and _THREAD.fullmatch(value):
        return value
    raise ValueError("not a thread")


def _choice(value: Any) -> Choice:
    return cast(Choice, value) if value is None or isinstance(value, int | str) else _refuse(value)


def _refuse(value: Any) -> Any:
    raise TypeError(f"unexpected {type(value).__name__}")


def _literal(value: object) -> str | None:
    text = repr(value)
    try:
        same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return text if same else None


def _bad(message: str, fix: str = "copy the schedule again, from 'dpor1:' to its end") -> DporError:
    return DporError(Code.BAD_SCHEDULE, message, fix)
