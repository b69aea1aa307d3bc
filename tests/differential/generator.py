"""Hypothesis strategies that draw small concurrent programs.

A program first draws a palette (a few locations, locks and one or two families of primitives and
containers), so that its threads meet on the same things rather than pass each other by.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from program import (
    Assume,
    Check,
    Choose,
    Code,
    CompareExchange,
    FetchAdd,
    If,
    Increment,
    Locked,
    Program,
    Read,
    Spawn,
    Statement,
    TryLocked,
    Write,
)

PLAIN = ("s.x", "s.y", "total", "s.cells[0]", "s.cells[1]", 's.table["k"]')
ATOMIC = ("s.a", "s.b")
LOCKS = ("s.lock", "s.other", "s.reentrant")
VALUES = st.integers(0, 2)

# A wait may go on for ever; that is a deadlock, which every algorithm has to find.
FAMILIES = {
    "condition": (
        ("with s.changed:\n    s.changed.wait()", 3),
        ("with s.changed:\n    while s.x == 0:\n        s.changed.wait()\n    s.x -= 1", 4),
        ("with s.changed:\n    if s.x == 0:\n        s.changed.wait()\n    s.x -= 1", 4),
        ("with s.changed:\n    seen.append(s.changed.wait_for(lambda: s.x))", 4),
        ("with s.changed:\n    s.x = 1\n    s.changed.notify()", 3),
        ("with s.changed:\n    s.changed.notify_all()", 3),
        ("with s.changed:\n    s.x += 1\n    s.changed.notify(2)", 4),
    ),
    "timed condition": (
        ("with s.changed:\n    seen.append(s.changed.wait(timeout=1))", 3),
        ("with s.changed:\n    s.changed.notify()", 3),
    ),
    "event": (
        ("s.flag.set()", 1),
        ("s.flag.clear()", 1),
        ("s.flag.wait()", 1),
        ("seen.append(s.flag.wait(timeout=1))", 1),
        ("seen.append(s.flag.is_set())", 1),
    ),
    "semaphore": (
        ("with s.permits:\n    s.y += 1", 4),
        ("s.permits.acquire()", 1),
        ("s.permits.release()", 1),
        ("if s.permits.acquire(blocking=False):\n    s.y = 1\n    s.permits.release()", 3),
    ),
    "queue": (
        ("s.queue.put(1)", 1),
        ("s.queue.put(2)", 1),
        ("seen.append(s.queue.get())", 1),
        ("if not s.queue.empty():\n    seen.append(s.queue.get_nowait())", 2),
        ("seen.append(s.queue.qsize())", 1),
    ),
    "lock": (
        ("s.lock.acquire()", 1),
        ("s.lock.release()", 1),
        ("seen.append(s.lock.locked())", 1),
        ("seen.append(s.lock.acquire(timeout=1))", 1),
    ),
    "predicate": (
        ("dpor.wait_until(lambda: s.x == 1)", 1),
        ("dpor.wait_until(lambda: s.x == s.y)", 1),
        ("s.y += 1", 2),
        ("s.x = 1", 1),
        ("s.x = 2", 1),
    ),
    "predicate over several locations": (
        ("dpor.wait_until(lambda: s.x == s.y)", 1),
        ("dpor.wait_until(lambda: s.x and s.y)", 1),
        ("dpor.wait_until(lambda: s.x or s.y)", 1),
        ("dpor.wait_until(lambda: s.a.load() if s.x else s.y)", 1),
        ("dpor.wait_until(lambda: any(s.cells) and s.x == 1)", 1),
        ("s.x = 1", 1),
        ("s.x = 2", 1),
        ("s.y += 1", 2),
        ("s.y = 1", 1),
        ("s.a.store(1)", 1),
        ("s.a.compare_exchange(0, 1)", 1),
        ("s.cells[1] = 1", 1),
        ("s.x, s.y = s.y, s.x", 4),
        ("seen.append(s.x)", 1),
    ),
    "predicate over one location": (
        ("dpor.wait_until(lambda: s.x == 1)", 1),
        ("dpor.wait_until(lambda: s.x > 1)", 1),
        ("dpor.wait_until(lambda: s.a.load())", 1),
        ("s.x = 0", 1),
        ("s.x = 1", 1),
        ("s.x = 2", 1),
        ("s.x += 1", 2),
        ("s.a.store(1)", 1),
        ("s.a.store(0)", 1),
        ("s.a.compare_exchange(0, 1)", 1),
        ("seen.append(s.x)", 1),
    ),
    "loop": (
        ("while s.x != 1:\n    pass", 1),
        ("while True:\n    with s.lock:\n        if s.x == 2:\n            break", 3),
        ("while not s.lock.acquire(timeout=1):\n    pass\ns.x = 3\ns.lock.release()", 3),
        ("while s.a.exchange(1):\n    pass", 1),
        ("s.a.store(0)", 1),
        ("s.x = 1", 1),
        ("s.x = 2", 1),
    ),
    "list": (
        ("s.items.append(1)", 1),
        ("s.items.append(2)", 1),
        ("seen.append(len(s.items))", 1),
        ("if s.items:\n    seen.append(s.items.pop())", 2),
        ("for item in s.items:\n    seen.append(item)", 2),
        ("seen.append(1 in s.items)", 1),
        ("seen.append(sum(s.items))", 1),
        ("s.items += [3]", 2),
        ("s.items = [4]", 1),
    ),
    "cells": (
        ("s.cells[0], s.cells[1] = s.cells[1], s.cells[0]", 4),
        ("s.cells[0] = 1", 1),
        ("s.cells[1] += 2", 2),
        ("seen.extend(s.cells)", 1),
        ("s.cells.reverse()", 1),
    ),
    "items": (
        ("s.cells[0] = 1", 1),
        ("s.cells[1] = 2", 1),
        ("s.cells[1] += 2", 2),
        ("seen.append(s.cells[0])", 1),
        ("seen.append(s.cells[1])", 1),
        ("seen.append(s.table['k'])", 1),
        ("s.table['k'] = 1", 1),
        ("s.cells[0], s.cells[1] = s.cells[1], s.cells[0]", 4),
        ("s.a.store(1, 'relaxed')", 1),
        ("if s.a.load('relaxed'):\n    seen.append(s.cells[1])", 2),
    ),
    "dict": (
        ('s.table["new"] = 1', 1),
        ('seen.append(s.table.setdefault("new", 2))', 1),
        ('seen.append(s.table.pop("new", 0))', 1),
        ('if "new" not in s.table:\n    s.table["new"] = 3', 2),
        ('if "new" in s.table:\n    del s.table["new"]', 2),
        ('seen.append(s.table.get("k"))', 1),
        ("seen.append(len(s.table))", 1),
        ("seen.extend(s.table.values())", 1),
        ("s.table.update(k=5)", 1),
    ),
    "whole": (
        ("s.rows[0][0] = 1", 1),
        ("s.rows[1] = [0]", 1),
        ("s.rows[0] = s.rows[1]", 2),
        ("s.rows[1].append(2)", 1),
        ("seen.append(s.rows == [[0], [1]])", 1),
        ("seen.append(str(s.rows))", 1),
        ("seen.append(s.rows[0] == s.rows[1])", 1),
        ("seen.append([0] in s.rows)", 1),
        ("seen.append(s.rows == [[s.x], [1]])", 2),
        ("s.box.x = 1", 1),
        ("s.twin.y = 1", 1),
        ("s.twin = s.box", 2),
        ("seen.append(s.box == s.twin)", 2),
        ("seen.append(f'{s.box}')", 2),
    ),
    "set": (
        ("s.found.add(1)", 1),
        ("s.found.discard(1)", 1),
        ("s.found.add(2)", 1),
        ("seen.append(len(s.found))", 1),
        ("seen.append(1 in s.found)", 1),
    ),
}


@dataclass(frozen=True)
class Palette:
    """What the threads of one program use."""

    locations: tuple[str, ...]
    locks: tuple[str, ...]
    snippets: tuple[tuple[str, int], ...]
    # Races of one writer with many readers are reversed in other ways than those of writers.
    mostly_reads: bool


@st.composite
def palettes(draw: st.DrawFn, *, rich: bool, only: tuple[str, ...] = ()) -> Palette:
    """Draw what a program is about; only a `rich` one has primitives other than locks, and containers.

    `only` names the families to use instead of drawing some.
    """
    locations = draw(
        st.lists(st.sampled_from(PLAIN + ATOMIC), min_size=1, max_size=draw(st.integers(1, 3)), unique=True)
    )
    locks = draw(st.lists(st.sampled_from(LOCKS), min_size=1, max_size=2, unique=True))
    families = only or (
        draw(st.lists(st.sampled_from(sorted(FAMILIES)), min_size=1, max_size=2, unique=True)) if rich else []
    )
    snippets = tuple(snippet for family in families for snippet in FAMILIES[family])
    return Palette(tuple(locations), tuple(locks), snippets, draw(st.booleans()))


@st.composite
def programs(draw: st.DrawFn, *, rich: bool, weight: int, families: tuple[str, ...] = ()) -> Program:
    """Draw a program of at most about `weight` events; `rich` adds primitives and containers to variables.

    `families` names those to use instead of drawing some.
    """
    palette = draw(palettes(rich=rich, only=families))
    count = draw(st.sampled_from((2, 2, 3)))
    threads = [_body(draw, palette, max(2, weight // count), ()) for _ in range(count)]
    top = tuple(range(count))
    if draw(st.integers(0, 4)) == 4:
        parent = draw(st.integers(0, count - 2))
        body = list(threads[parent])
        body.insert(draw(st.integers(0, len(body))), Spawn(count - 1))
        threads[parent] = tuple(body)
        top = top[:-1]
    main = _body(draw, palette, 2, ()) if draw(st.integers(0, 3)) == 3 else ()
    return Program(tuple(threads), top, main, draw(st.integers(0, 12)))


def _body(draw: st.DrawFn, palette: Palette, weight: int, held: tuple[str, ...]) -> tuple[Statement, ...]:
    """Draw statements that weigh no more than `weight` together; `held` are the locks around them."""
    body: list[Statement] = []
    left = weight
    for _ in range(weight + 1):
        statement = _statement(draw, palette, left, held)
        if statement.total_weight() <= left:
            body.append(statement)
            left -= statement.total_weight()
    return tuple(body)


def _statement(draw: st.DrawFn, palette: Palette, weight: int, held: tuple[str, ...]) -> Statement:
    shape = draw(st.integers(0, 15))
    free = [lock for lock in palette.locks if lock not in held]
    # A lock that one thread takes twice blocks it for ever, which is found soon and hides the rest.
    if shape in (12, 13) and free and weight > 2:
        lock = draw(st.sampled_from(free))
        body = _body(draw, palette, weight - 2, (*held, lock))
        return Locked(lock, body) if shape == 12 else TryLocked(lock, body)
    if shape == 14 and weight > 1:
        return If(draw(VALUES), _body(draw, palette, min(weight, 2), held))
    if shape == 15:
        return draw(
            st.one_of(st.builds(Assume, VALUES), st.builds(Choose, st.sampled_from([(0, 1), (1, 2)])))
        )
    if palette.snippets and shape < 8:
        text, cost = draw(st.sampled_from(palette.snippets))
        return Code(text, cost)
    if palette.snippets and shape == 8:
        return Check(draw(VALUES))
    location = draw(st.sampled_from(palette.locations))
    if palette.mostly_reads and draw(st.booleans()):
        return Read(location)
    return _access(draw, location)


def _access(draw: st.DrawFn, location: str) -> Statement:
    kind = draw(st.integers(0, 7 if location in ATOMIC else 5))
    if kind >= 6:
        # Most of them succeed at least once: a failing one is a mere read.
        return CompareExchange(location, draw(st.sampled_from((0, 0, 1))), draw(VALUES))
    if location in ATOMIC and kind == 5:
        return FetchAdd(location)
    if kind <= 1:
        return Read(location)
    if kind <= 3:
        return Write(location, draw(st.one_of(st.none(), VALUES)))
    return Increment(location)
