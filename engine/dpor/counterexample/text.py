"""The text report of a counterexample and of a replay, for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePath

from dpor.codes import Code
from dpor.counterexample.columns import lay_out, style_of
from dpor.counterexample.entries import items_of, spawn_order
from dpor.counterexample.layout import Line, Piece, Style, cells, clean, cut, pad, paint, wrap
from dpor.counterexample.operations import Operation
from dpor.counterexample.phrases import describe_operation, describe_wait, join_words, place_of
from dpor.counterexample.schedule import decode
from dpor.counterexample.syntax import Sources
from dpor.errors import DporError
from dpor.results import ReplayResult, SourceSpan, TraceStep, Violation, WaitingThread

NARROWEST = 20
_INDENT = "  "
_MOST_SCHEDULE_LINES = 12
_NARROWEST_EFFECT = 24
_MOST_CALLS = 8


def render(violation: Violation, *, width: int, color: bool, root: Path) -> str:
    """The report of a violation: what broke, the interleaving with values, how to replay it.

    No line takes more than `width` cells (at least 20); `color` adds ANSI sequences; `root` is the folder
    that the violation's spans are relative to, where the source lines are read. Ends with a line break.
    """
    width = max(width, NARROWEST)
    sources = Sources(root)
    lines = [*_header(violation, width)]
    lines += _inner_calls(violation, width)
    lines += _symbolic_values(violation, width)
    if violation.waiting:
        lines += [[], *_deadlock(violation.waiting, width)]
    items = items_of(violation, sources)
    if items:
        main_file = violation.location.file if violation.location is not None else ""
        lines += [[], *lay_out(items, width, thread_names(violation.trace), main_file)]
    lines += [[], *_footer(violation, width)]
    return _text(lines, color)


def render_replay(result: ReplayResult, *, width: int, color: bool, root: Path) -> str:
    """The report of a replay: every step numbered, whether the code changed, where it diverged, what it
    showed.

    Arguments and line widths as for `render`.
    """
    width = max(width, NARROWEST)
    lines: list[Line] = [*_steps(result.trace, width)]
    if lines:
        lines.append([])
    if result.changed:
        note = "The model's code has changed since the schedule was made."
        lines += _paragraph(note, width, Style.PATTERN)
    if result.divergence is not None:
        note = f"{Code.DIVERGED.value} The replay diverged at {result.divergence}"
        lines += _paragraph(note, width, Style.ERROR)
    if result.violation is not None:
        lines += _paragraph("The schedule still breaks the model:", width, Style.STRONG)
        text = render(result.violation, width=width, color=color, root=root)
        return _text(lines, color) + text
    if result.divergence is None:
        lines += _paragraph("Nothing broke: on this schedule the model holds.", width, Style.STRONG)
    return _text(lines, color)


def thread_names(trace: Sequence[TraceStep]) -> dict[str, str]:
    """The names that the user gave to threads, by spawn path."""
    return {
        step.value: step.target
        for step in trace
        if step.operation == Operation.SPAWN.value and step.value is not None and step.target is not None
    }


def replay_command(violation: Violation, width: int | None = None) -> str | None:
    """The command line that replays a violation; without the schedule where that would be longer than
    `width`.

    None if the violation's schedule cannot be read, so that the model is unknown.
    """
    model = _model(violation)
    if model is None:
        return None
    command = f"dpor-lsp --replay {model}"
    whole = f"{command} --schedule {violation.schedule}"
    return whole if width is None or cells(whole) <= width else command


def _header(violation: Violation, width: int) -> Iterator[Line]:
    where = f"{_where(violation.location)}: " if violation.location is not None else ""
    title = f"{violation.code.value} {violation.kind.value}"
    pattern = f" ({violation.pattern.value})" if violation.pattern is not None else ""
    if cells(where + title + pattern) <= width:
        yield [Piece(where, Style.STRONG), Piece(title, Style.ERROR), Piece(pattern, Style.PATTERN)]
    else:
        yield from _paragraph(where.rstrip(), width, Style.STRONG)
        yield from _paragraph(title + pattern, width, Style.ERROR)
    for part in violation.message.splitlines():
        yield from _paragraph(clean(part), width, Style.PLAIN, _INDENT)


def _inner_calls(violation: Violation, width: int) -> Iterator[Line]:
    """Where an exception comes from that was raised in a package: the calls there."""
    inner = list(takewhile(lambda call: not call.first_party, violation.calls))
    for number, call in enumerate(inner[:_MOST_CALLS]):
        verb = "raised" if number == 0 else "called"
        text = f"{verb} in {call.function} ({_where(call.location)})"
        yield from _paragraph(clean(text), width, Style.PLAIN, _INDENT)


def _symbolic_values(violation: Violation, width: int) -> Iterator[Line]:
    if violation.values:
        values = ", ".join(f"{name} = {value!r}" for name, value in violation.values.items())
        yield from _paragraph(f"with {values}", width, Style.VALUE, _INDENT)
    if violation.path_condition:
        conditions = join_words(violation.path_condition)
        yield from _paragraph(f"for all values such that {conditions}", width, Style.PLAIN, _INDENT)


def _deadlock(waiting: Sequence[WaitingThread], width: int) -> Iterator[Line]:
    cycle = _cycle(waiting)
    if cycle:
        names = join_words(tuple(wait.thread for wait in cycle))
        sentence = (
            f"{names} wait for each other for ever:" if len(cycle) > 1 else f"{names} waits for itself:"
        )
        yield from _paragraph(sentence, width, Style.STRONG)
        links = " → ".join(f"{wait.thread} → {wait.target}" for wait in cycle)
        yield from _paragraph(f"{links} → {cycle[0].thread}", width, Style.VALUE, _INDENT)
    else:
        yield from _paragraph("These threads wait for ever:", width, Style.STRONG)
    others = sorted(
        (wait for wait in waiting if wait not in cycle), key=lambda wait: spawn_order(wait.thread)
    )
    for wait in [*cycle, *others]:
        yield from _paragraph(clean(describe_wait(wait)), width, Style.PLAIN, _INDENT)


def _cycle(waiting: Sequence[WaitingThread]) -> list[WaitingThread]:
    """The threads that wait for each other, in the order in which they wait; empty if there is no cycle."""
    by_thread = {wait.thread: wait for wait in waiting if wait.waits_for is not None}
    for wait in sorted(by_thread.values(), key=lambda wait: spawn_order(wait.thread)):
        path: list[WaitingThread] = []
        current: WaitingThread | None = wait
        while current is not None and current not in path:
            path.append(current)
            current = by_thread.get(current.waits_for or "")
        if current is wait:
            return path
    return []


def _footer(violation: Violation, width: int) -> Iterator[Line]:
    chunks = [
        violation.schedule[start : start + width - 2]
        for start in range(0, len(violation.schedule), width - 2)
    ]
    if chunks and len(chunks) <= _MOST_SCHEDULE_LINES:
        yield [Piece("Schedule", Style.STRONG)]
        for chunk in chunks:
            yield [Piece(_INDENT), Piece(chunk, Style.DIM)]
    elif chunks:
        size = f"The schedule has {len(violation.schedule):,} characters; --format json prints it."
        yield from _paragraph(size, width, Style.DIM)
    command = replay_command(violation, width - 2)
    if command is not None:
        yield [Piece("Replay", Style.STRONG)]
        # Without `--schedule` the command replays the last counterexample that the cache holds.
        for text in wrap(command, width - 4, indent=_INDENT):
            yield [Piece(_INDENT), Piece(text)]


def _steps(trace: Sequence[TraceStep], width: int) -> Iterator[Line]:
    number_room = len(str(len(trace)))
    thread_room = min(max((cells(step.thread) for step in trace), default=0), width // 4)
    places = [_where(place_of(step)) for step in trace]
    place_room = max((cells(place) for place in places), default=0)
    room = width - number_room - thread_room - place_room - 6
    beside = room >= _NARROWEST_EFFECT
    if not beside:
        room = max(width - number_room - thread_room - 4, 1)
    effects = [clean(describe_operation(step)) for step in trace]
    room = min(room, max((cells(effect) for effect in effects), default=0))
    for step, place, effect in zip(trace, places, effects, strict=True):
        style = Style.PLAIN if step.matters else Style.DIM
        for number, text in enumerate(wrap(effect, room, indent=_INDENT)):
            head = f"{step.step:>{number_room}}" if number == 0 else " " * number_room
            thread = pad(step.thread if number == 0 else "", thread_room)
            line = [
                Piece(f"{head}  ", Style.DIM),
                Piece(f"{thread}  ", style_of(step.thread)),
                Piece(pad(text, room), style),
            ]
            if number == 0 and beside:
                line.append(Piece(f"  {place}", Style.DIM))
            yield line
        if place and not beside:
            margin = number_room + 2
            yield [Piece(" " * margin), Piece(cut(f"{_INDENT}{place}", width - margin), Style.DIM)]


def _model(violation: Violation) -> str | None:
    try:
        model = decode(violation.schedule).model
    except DporError:
        return None
    file, _, name = model.partition("::")
    spans = [violation.location, *(place_of(step) for step in violation.trace)]
    for span in spans:
        if span is not None and PurePath(span.file).name == file:
            return f"{span.file}::{name}"
    return model


def _where(span: SourceSpan | None) -> str:
    return f"{span.file}:{span.line}" if span is not None else ""


def _paragraph(text: str, width: int, style: Style, indent: str = "") -> Iterator[Line]:
    for line in wrap(text, width - cells(indent), indent=_INDENT):
        yield [Piece(indent), Piece(line, style)]


def _text(lines: Sequence[Line], color: bool) -> str:
    return "".join(f"{paint(line, color)}\n" for line in lines)
