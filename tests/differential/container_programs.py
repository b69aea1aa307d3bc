"""Random programs with one container, as text for a check and as statements that run in every order.

Nothing of the checker takes part in the second: each statement runs as a whole, which is what it does in a check.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, SimpleNamespace
from typing import Any

from checked_programs import functions_of, names_of

_ERRORS = (AttributeError, IndexError, KeyError, ValueError)


@dataclass(frozen=True)
class Kind:
    """A container, how it is made empty and filled, what is in it, and what can be done with it.

    In `statements` A is a key or a name, and V a value."""

    made: str
    filled: str
    content: str
    statements: tuple[str, ...]


KINDS = {
    "attributes": Kind(
        "SimpleNamespace()",
        "SimpleNamespace(a=1)",
        "list(vars(box).items())",
        (
            "box.A = V",
            "del box.A",
            "vars(box)['A'] = V",
            "vars(box).setdefault('A', V)",
            "vars(box).pop('A', None)",
            "vars(box).update(A=V)",
            "vars(box).clear()",
            "vars(box).popitem()",
            "found.append(getattr(box, 'A', None))",
            "found.append(hasattr(box, 'A'))",
            "found.append(vars(box).get('A'))",
            "found.append(len(vars(box)))",
            "found.append(list(vars(box)))",
        ),
    ),
    "dict": Kind(
        "{}",
        "{'a': 1}",
        "list(box.items())",
        (
            "box['A'] = V",
            "box.setdefault('A', V)",
            "box.pop('A', None)",
            "del box['A']",
            "box.update(A=V)",
            "box.clear()",
            "box.popitem()",
            "found.append(box.get('A'))",
            "found.append('A' in box)",
            "found.append(len(box))",
            "found.append(bool(box))",
            "found.append(list(box))",
        ),
    ),
    "list": Kind(
        "[]",
        "[1]",
        "list(box)",
        (
            "box.append(V)",
            "box.extend([V, 7])",
            "box.insert(0, V)",
            "box.pop()",
            "box.pop(0)",
            "box.remove(V)",
            "box.reverse()",
            "box.clear()",
            "box[0] = V",
            "box[1] = V",
            "box[-1] = V",
            "box[1:] = [V]",
            "del box[-1]",
            "found.append(box[0])",
            "found.append(box[1])",
            "found.append(box[-1])",
            "found.append(len(box))",
            "found.append(V in box)",
            "found.append(list(box))",
        ),
    ),
    "set": Kind(
        "set()",
        "{'a'}",
        "sorted(box)",
        (
            "box.add('A')",
            "box.discard('A')",
            "box.remove('A')",
            "box.update('ab')",
            "box.clear()",
            "found.append('A' in box)",
            "found.append(len(box))",
            "found.append(bool(box))",
            "found.append(sorted(box))",
        ),
    ),
    # Nobody looks at the order of the items but the statements.
    "dict in no order": Kind(
        "{}",
        "{'a': 1}",
        "(len(box), box.get('a'), box.get('b'))",
        (
            "box['A'] = V",
            "box.setdefault('A', V)",
            "box.pop('A', None)",
            "box.clear()",
            "found.append(box.popitem())",
            "found.append(list(box))",
            "found.append(box == {'a': V})",
            "found.append(len(box))",
        ),
    ),
    # Their hashes say one place.
    "set of numbers": Kind(
        "set()",
        "{8}",
        "len(box)",
        (
            "box.add(8 * V)",
            "box.add(V)",
            "box.discard(8 * V)",
            "box.update([8 * V, V])",
            "found.append(box.pop())",
            "found.append(list(box))",
            "found.append(list(box | {1}))",
            "found.append(box == {0, 8 * V})",
            "found.append(8 * V in box)",
            "box.intersection_update({0, 8, 16})",
        ),
    ),
    "deque": Kind(
        "collections.deque()",
        "collections.deque([1])",
        "list(box)",
        (
            "box.append(V)",
            "box.appendleft(V)",
            "box.pop()",
            "box.popleft()",
            "box.rotate(1)",
            "box[-1] = V",
            "found.append(box[0])",
            "found.append(len(box))",
            "found.append(list(box))",
        ),
    ),
    "ordered dict": Kind(
        "collections.OrderedDict()",
        "collections.OrderedDict(a=1)",
        "list(box.items())",
        (
            "box['A'] = V",
            "box.move_to_end('A')",
            "box.pop('A')",
            "box.popitem(last=False)",
            "box.setdefault('A', V)",
            "found.append(box.get('A'))",
            "found.append(len(box))",
            "found.append(list(box))",
        ),
    ),
}


@dataclass(frozen=True)
class Step:
    """A statement; an error that a container raises is a result."""

    statement: str

    def source(self) -> str:
        """The statement in a function that has `found`, a list of results."""
        return (
            f"try: {self.statement}\n"
            "        except (AttributeError, IndexError, KeyError, ValueError) as error: "
            "found.append(type(error).__name__)"
        )


@dataclass(frozen=True)
class Program:
    """Threads that use one container."""

    kind: Kind
    filled: bool
    threads: tuple[tuple[Step, ...], ...]

    def source(self) -> str:
        """The text of a module with the model."""
        return f"""import collections
import threading
from types import SimpleNamespace

import dpor
from differential_sink import record

def plain(value):
    return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else value

@dpor.model
def program():
    box = {self.kind.filled if self.filled else self.kind.made}
    results = [[] for _ in range({len(self.threads)})]
{functions_of(self.threads)}    functions = [{names_of(self.threads)}]
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record(plain((results, {self.kind.content})))
"""

    def run(self) -> frozenset[Any]:
        """The outcomes of all orders of the statements."""
        codes = [[compile(step.statement, "<step>", "exec") for step in steps] for steps in self.threads]
        return frozenset(self._outcome(codes, order) for order in _orders([len(steps) for steps in codes]))

    def _outcome(self, codes: list[list[CodeType]], order: list[int]) -> Any:
        names: dict[str, Any] = {"collections": collections, "SimpleNamespace": SimpleNamespace}
        names["box"] = eval(self.kind.filled if self.filled else self.kind.made, names)
        results: list[list[Any]] = [[] for _ in codes]
        done = [0] * len(codes)
        for thread in order:
            names["found"] = results[thread]
            try:
                exec(codes[thread][done[thread]], names)
            except _ERRORS as error:
                results[thread].append(type(error).__name__)
            done[thread] += 1
        return _plain((results, eval(self.kind.content, names)))


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _orders(left: list[int]) -> Iterator[list[int]]:
    """All orders of that many steps of each thread, as the threads' numbers."""
    if not any(left):
        yield []
    for thread, count in enumerate(left):
        if count:
            left[thread] -= 1
            for rest in _orders(left):
                yield [thread, *rest]
            left[thread] += 1


def programs(seed: int) -> Iterator[Program]:
    """Endless programs; the same for the same seed."""
    source = random.Random(seed)
    while True:
        kind = source.choice(list(KINDS.values()))
        # Few kinds of statements in one program, so that they meet.
        chosen = [source.choice(kind.statements) for _ in range(source.choice((3, 4, 6)))]
        lengths = source.choice(((1, 1, 1), (2, 1, 1), (2, 2, 1), (1, 1, 1, 1)))
        steps = (
            tuple(
                Step(
                    source.choice(chosen)
                    .replace("A", source.choice("ab"))
                    .replace("V", str(source.randrange(3)))
                )
                for _ in range(length)
            )
            for length in lengths
        )
        yield Program(kind, source.random() < 0.5, tuple(steps))
