"""Lays entries out: one column a thread, or one indented list where the terminal is too narrow for columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpor.counterexample.entries import Entry, Fold, Item, spawn_order, threads_of
from dpor.counterexample.layout import THREAD_STYLES, Line, Piece, Style, cells, cut, pad, wrap

NARROWEST = 24
_WIDEST = 56
_MOST_LINES = 3
_INDENT = "  "


def lay_out(items: Sequence[Item], width: int, names: Mapping[str, str], main_file: str) -> list[Line]:
    """The lines of an interleaving, each at most `width` cells.

    `names` gives display names of threads beside their paths; lines of `main_file` need no file name.
    """
    threads = threads_of(items)
    gutter = _gutter(items)
    room = (width - gutter) // max(len(threads), 1) - 3
    if room < NARROWEST:
        return list(_list(items, width, names, main_file))
    return list(_columns(items, threads, gutter, min(room, _WIDEST), names, main_file))


def _gutter(items: Sequence[Item]) -> int:
    """The cells before the first column: a mark, the widest line number, a space."""
    numbers = [item.place.line for item in items if isinstance(item, Entry) and item.place is not None]
    return 2 + max(len(str(max(numbers, default=0))), 2) + 1


def _columns(
    items: Sequence[Item],
    threads: Sequence[str],
    gutter: int,
    room: int,
    names: Mapping[str, str],
    main_file: str,
) -> Iterator[Line]:
    heads = [Piece(pad(_title(thread, names), room), style_of(thread)) for thread in threads]
    yield _row(" " * gutter, [[head] for head in heads], None, threads, room)
    yield [Piece("─" * gutter + f"┼{'─' * (room + 2)}" * len(threads), Style.DIM)]
    running: str | None = None
    for item in items:
        if running is not None and running != item.thread:
            yield _row(" " * gutter, [], None, threads, room)
        running = item.thread
        column = threads.index(item.thread)
        if isinstance(item, Fold):
            folded: list[Line] = [[] for _ in range(column)]
            yield _row(" " * gutter, [*folded, [Piece(_folded(item), Style.DIM)]], column, threads, room)
            continue
        for number, piece in enumerate(_content(item, room, main_file)):
            before: list[Line] = [[] for _ in range(column)]
            yield _row(
                _margin(item, gutter) if number == 0 else " " * gutter,
                [*before, [piece]],
                column,
                threads,
                room,
            )


def _row(margin: str, columns: list[Line], active: int | None, threads: Sequence[str], room: int) -> Line:
    """One row: the margin, then a bar and the text of each column; the bar of the running thread is heavy."""
    failed = margin.startswith("✗")
    line: Line = [Piece(margin, Style.ERROR if failed else Style.DIM)]
    for number, thread in enumerate(threads):
        if number == active:
            line.append(Piece("┃", style_of(thread)))
        else:
            line.append(Piece("│", Style.DIM))
        content = columns[number] if number < len(columns) else []
        used = sum(cells(piece.text) for piece in content)
        line += [Piece(" "), *content, Piece(" " * (room - used + 1))]
    return line


def _list(items: Sequence[Item], width: int, names: Mapping[str, str], main_file: str) -> Iterator[Line]:
    gutter = _gutter(items)
    room = max(width - gutter, 1)
    for item in items:
        if isinstance(item, Fold):
            text = f"[{_title(item.thread, names)}] {_folded(item)}"
            yield [Piece(" " * gutter), Piece(cut(text, room), Style.DIM)]
            continue
        prefix = f"[{_title(item.thread, names)}] "
        lines = wrap(prefix + item.source, room, indent=_INDENT * 2, most=_MOST_LINES)
        for number, text in enumerate(lines):
            margin = _margin(item, gutter) if number == 0 else " " * gutter
            yield [
                Piece(margin, Style.ERROR if item.failed else Style.DIM),
                *_after_prefix(text, prefix, item),
            ]
        for piece in list(_content(item, room - 2, main_file, with_source=False)):
            yield [Piece(" " * (gutter + 2)), piece]


def _after_prefix(text: str, prefix: str, item: Entry) -> Line:
    style = Style.ERROR if item.failed else Style.PLAIN
    if not text.startswith(prefix):
        return [Piece(text, style)]
    return [Piece(prefix, style_of(item.thread)), Piece(text[len(prefix) :], style)]


def _content(item: Entry, room: int, main_file: str, *, with_source: bool = True) -> Iterator[Piece]:
    """The lines of an entry: its file if it is not the main one, the source line, the effects below."""
    if with_source:
        style = Style.ERROR if item.failed else Style.PLAIN
        for text in wrap(item.source, room, indent=_INDENT * 2, most=_MOST_LINES):
            yield Piece(text, style)
    if item.place is not None and item.place.file != main_file:
        yield Piece(cut(f"{_INDENT}in {item.place.file}", room), Style.DIM)
    for effect in item.effects:
        style = Style.DIM if effect.startswith("↳") else Style.ERROR if item.failed else Style.VALUE
        for text in wrap(_INDENT + effect, room, indent=_INDENT * 2, most=_MOST_LINES):
            yield Piece(text, style)


def _margin(item: Entry, gutter: int) -> str:
    number = str(item.place.line) if item.place is not None else ""
    return f"{'✗' if item.failed else ' '} {number:>{gutter - 3}} "


def _title(thread: str, names: Mapping[str, str]) -> str:
    return f"{names[thread]} ({thread})" if thread in names else thread


def _folded(fold: Fold) -> str:
    return f"… {fold.count} {'step' if fold.count == 1 else 'steps'}"


def style_of(thread: str) -> Style:
    """The style of a thread: the same in every report."""
    order = spawn_order(thread)
    last = order[-1][1]
    number = last + len(order) if isinstance(last, int) else 0
    return THREAD_STYLES[number % len(THREAD_STYLES)]
