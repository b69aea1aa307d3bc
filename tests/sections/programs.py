"""Random programs of threads with locks: most data is used under one lock, some of it also without."""

from __future__ import annotations

import random
import textwrap

_HEAD = """
import threading
import dpor

class Box:
    pass

@dpor.model
def model():
    locks = [threading.Lock(), threading.LOCKTYPE()]
    x, y, d, l, s, box, logs = [0], [0], {}, [], set(), Box(), [[] for _ in range(COUNT)]
    box.a, box.b = 0, 0
    event = threading.Event()
"""
_TAIL = """
    threads = [threading.Thread(target=guarded, args=(work, logs[number])) for number, work in enumerate(WORKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return x, y, sorted(map(str, d.items())), l, sorted(s), box.a, box.b, logs
"""
_GUARDED = """
    def guarded(work, log):
        try:
            work(log)
        except KeyError as error:
            log.append(repr(error))
"""
# By the lock that most of them hold.
_STATEMENTS = (
    (
        "x[0] += 1",
        "log.append(x[0])",
        "x[0] = KEY",
        "d[KEY] = x[0]",
        "d[KEY] = KEY",
        "log.append(d.get(KEY))",
        "log.append(len(d))",
        "d.pop(KEY, None)",
        "del d[KEY]",
        "if x[0]:\n    d[KEY] = 5\nelse:\n    x[0] = 7",
        "if KEY not in d:\n    d[KEY] = len(d)",
        "for key in sorted(d):\n    x[0] += key",
    ),
    (
        "y[0] += 1",
        "log.append(y[0])",
        "l.append(KEY)",
        "log.append(list(l))",
        "if l:\n    log.append(l.pop())",
        "s.add(KEY)",
        "log.append(KEY in s)",
        "box.a += 1",
        "box.b = box.a",
        "log.append((box.a, box.b))",
        "if box.a > box.b:\n    y[0] = 3",
    ),
)
_APART = ("log.append(x[0])", "x[0] += 1", "d[KEY] = 9", "l.append(KEY)", "box.a = 4", "log.append(y[0])")
_RARE = (
    "if locks[LOCK].acquire(blocking=False):\n    x[0] += 1\n    locks[LOCK].release()",
    "log.append(locks[0].locked())",
    "with locks[0]:\n    x[0] += 1\n    with locks[1]:\n        y[0] += 1",
    "with locks[1]:\n    y[0] += 1\n    with locks[0]:\n        x[0] += 1",
    "with locks[LOCK]:\n    x[0] += 1\n    event.set()",
    "with locks[LOCK]:\n    x[0] += 1\n    raise KeyError(x[0])",
    "with locks[LOCK]:\n    assert x[0] < 3",
    "assert y[0] < 2",
    "for _ in range(20):\n    with locks[0]:\n        if x[0]:\n            break",
    "while True:\n    with locks[0]:\n        if x[0]:\n            break",
    "locks[LOCK].acquire()\ny[0] += 1",
    "with locks[LOCK]:\n    helper = threading.Thread(target=log.append, args=(1,))\n    helper.start()\n"
    "    y[0] += 1\nhelper.join()",
    "with locks[LOCK]:\n    log.append(event.wait(0.1))",
)


def made(number: int) -> str:
    """The text of the program with this number; its model returns what has become of everything."""
    rng = random.Random(number)
    count = rng.choice((2, 2, 2, 3))
    works: list[str] = []
    for thread in range(count):
        parts = [_part(rng) for _ in range(rng.choice((1, 2, 2) if count == 2 else (1, 1, 2)))]
        body = textwrap.indent(
            "".join(part.replace("KEY", str(rng.randrange(3))) + "\n" for part in parts), " " * 8
        )
        works.append(f"    def work{thread}(log):\n{body}")
    head = _HEAD.replace("COUNT", str(count)).replace("LOCKTYPE", rng.choice(("Lock", "RLock")))
    names = ", ".join(f"work{thread}" for thread in range(count))
    return head + _GUARDED + "".join(works) + _TAIL.replace("WORKS", f"[{names}]")


def _part(rng: random.Random) -> str:
    lock = rng.randrange(2)
    kind = rng.random()
    if kind < 0.07:
        return rng.choice(_RARE).replace("LOCK", str(lock))
    if kind < 0.14:
        return rng.choice(_APART)
    statements = [rng.choice(_STATEMENTS[lock]) for _ in range(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.1:
        statements.append(rng.choice(_STATEMENTS[1 - lock]))
    body = "".join(textwrap.indent(statement, "    ") + "\n" for statement in statements)
    if rng.random() < 0.15:
        return f"locks[{lock}].acquire()\n{textwrap.dedent(body)}locks[{lock}].release()"
    return f"with locks[{lock}]:\n{body.rstrip()}"
