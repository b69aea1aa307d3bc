"""Groups the steps of a trace into what a report shows as one thing: a source line and what it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dpor.counterexample.layout import clean
from dpor.counterexample.operations import Operation
from dpor.counterexample.phrases import effect_text, place_of, wait_text
from dpor.counterexample.syntax import Sources
from dpor.results import SourceSpan, TraceStep, Violation, WaitingThread


@dataclass
class Entry:
    """A source line that a thread ran without interruption.

    `effects` are what it did, in order; a text that starts with `↳` is a place in a package's code that the
    effects after it come from. `failed` marks where the execution broke; `first_party` is False if the
    place is only known in a package.
    """

    thread: str
    place: SourceSpan | None
    source: str
    effects: list[str] = field(default_factory=list[str])
    failed: bool = False


@dataclass(frozen=True)
class Fold:
    """Steps of one thread in a row that do not matter."""

    thread: str
    count: int


Item = Entry | Fold


def items_of(violation: Violation, sources: Sources) -> list[Item]:
    """What to show of a violation's trace, in order; the last entries are where it broke.

    Threads of which no step matters are left out.
    """
    items: list[Item] = []
    hidden: list[TraceStep] = []
    inner: SourceSpan | None = None
    for step in violation.trace:
        if not step.matters:
            hidden.append(step)
            continue
        place = place_of(step)
        items += _folds(hidden, items[-1] if items else None, step)
        hidden = []
        last = items[-1] if items else None
        if not isinstance(last, Entry) or not _continues(last, step, place):
            last = Entry(step.thread, place, _source(step, place, sources))
            items.append(last)
            inner = None
        if step.call_site is not None and step.location is not None and not _same_line(step.location, inner):
            inner = step.location
            code = sources.line(inner.file, inner.line).strip()
            last.effects.append(f"↳ {_short(inner.file)}:{inner.line} {clean(code)}".rstrip())
        text = effect_text(step)
        if text and text != last.source and clean(text) not in last.effects[-1:]:
            last.effects.append(clean(text))
    items += _folds(hidden, items[-1] if items else None, None)
    items += _ending(violation, items, sources)
    threads = threads_of(items)
    return _merged(item for item in items if item.thread in threads)


def _merged(items: Iterable[Item]) -> list[Item]:
    """Make one of folds of the same thread that have come to follow each other."""
    merged: list[Item] = []
    for item in items:
        last = merged[-1] if merged else None
        if isinstance(item, Fold) and isinstance(last, Fold) and last.thread == item.thread:
            merged[-1] = Fold(item.thread, last.count + item.count)
        else:
            merged.append(item)
    return merged


def threads_of(items: Sequence[Item]) -> list[str]:
    """The threads that have entries, in spawn order."""
    return sorted({item.thread for item in items if isinstance(item, Entry)}, key=spawn_order)


def spawn_order(path: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key that puts a thread before those it spawned, and these in the order of their numbers."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in path.split("."))


def _folds(hidden: Sequence[TraceStep], last: Item | None, following: TraceStep | None) -> list[Fold]:
    """Fold steps that do not matter, except those on the lines that are shown just before and after them.

    Where a thread starts and ends is no step that a person wrote, and neither is what has no place in the code.
    """
    folds: list[Fold] = []
    for step in hidden:
        place = place_of(step)
        unwritten = place is None or Operation.of(step.operation) in (Operation.START, Operation.END)
        if unwritten or _continues(last, step, place):
            continue
        if (
            following is not None
            and step.thread == following.thread
            and _same_line(place, place_of(following))
        ):
            continue
        count = folds.pop().count if folds and folds[-1].thread == step.thread else 0
        folds.append(Fold(step.thread, count + 1))
    return folds


def _continues(last: Item | None, step: TraceStep, place: SourceSpan | None) -> bool:
    return isinstance(last, Entry) and last.thread == step.thread and _same_line(last.place, place)


def _same_line(one: SourceSpan | None, other: SourceSpan | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.file, one.line) == (other.file, other.line)


def _source(step: TraceStep, place: SourceSpan | None, sources: Sources) -> str:
    """The source line of a step; what the step did where there is none, or where the line says something
    else.
    """
    line = clean(sources.line(place.file, place.line).strip()) if place is not None else ""
    if step.operation == Operation.RELEASE.value and "release" not in line:
        # The end of a `with` block stands at its head, where it would read as acquiring once more.
        return (
            clean(f"(end of) {line}")
            if line.startswith(("with ", "async with "))
            else clean(effect_text(step))
        )
    return line or clean(effect_text(step))


def _ending(violation: Violation, items: list[Item], sources: Sources) -> Iterator[Entry]:
    if violation.waiting:
        for wait in sorted(violation.waiting, key=lambda wait: spawn_order(wait.thread)):
            if not _is_bystander(wait, violation):
                yield Entry(
                    wait.thread, wait.location, _line(wait.location, sources), [wait_text(wait)], True
                )
        return
    last = items[-1] if items else None
    if violation.location is None:
        return
    if (
        isinstance(last, Entry)
        and last.thread == violation.thread
        and _within(last.place, violation.location)
    ):
        last.failed = True
    elif violation.thread is not None:
        source = _line(violation.location, sources)
        yield Entry(violation.thread, violation.location, source, [], True)


def _is_bystander(wait: WaitingThread, violation: Violation) -> bool:
    """True for a thread that only waits for the end of threads that are stuck: it adds nothing to a
    deadlock.
    """
    return (
        violation.kind.is_standstill
        and wait.operation == Operation.JOIN.value
        and any(other.operation != Operation.JOIN.value for other in violation.waiting)
    )


def _within(place: SourceSpan | None, location: SourceSpan) -> bool:
    """True if a place is on one of the lines of the failing statement."""
    return (
        place is not None
        and place.file == location.file
        and location.line <= place.line <= (location.end_line or location.line)
    )


def _line(place: SourceSpan | None, sources: Sources) -> str:
    return clean(sources.line(place.file, place.line).strip()) if place is not None else ""


def _short(file: str) -> str:
    """The last two parts of a package's file: `cachetools/__init__.py`."""
    return "/".join(file.split("/")[-2:])
