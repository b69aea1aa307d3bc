"""Operations of two or three statements: something is made of a container, and used after another look at it.

What is made holds the container where only its own code sees it: an iterator, an instance of a class that inherits from
a built-in one, a generator of containers, an exception.
"""

from __future__ import annotations

import random

KINDS = frozenset(
    {
        "OrderedDict",
        "UserList",
        "array",
        "bytearray",
        "deque",
        "dict",
        "dict of lists",
        "list",
        "nested list",
        "set",
    }
)

MADE = (
    "iter(s)",
    "enumerate(s)",
    "zip(s, s)",
    "map(str, s)",
    "filter(None, s)",
    "(x for x in s)",
    "itertools.chain(s)",
    "itertools.chain.from_iterable([s])",
    "itertools.chain.from_iterable(x for x in [s])",
    "itertools.islice(s, 2)",
    "itertools.accumulate(s, lambda a, b: b)",
    "itertools.tee(s)[0]",
    "itertools.zip_longest(s, [1])",
    "itertools.pairwise(s)",
    "itertools.takewhile(lambda x: True, s)",
    "itertools.compress(s, 'ab')",
    "itertools.starmap(lambda *x: len(x), zip(s))",
    "(s for _ in 'a')",
    "map(lambda _: s, 'a')",
    "map(operator.attrgetter('held'), [Holds(s)])",
    "iter([s, s])",
    "(s, s)",
    "Holds(s)",
    "(x.held for x in [Holds(s)])",
    "OwnTuple(s)",
    "collections.deque(s)",
    "ValueError(s).args",
    "functools.partial(iter, s)()",
    "iter(Holds(s))",
    "Held(s)",
)
BETWEEN = ("", "o.append(len(s))", "o.append(1 in s)", "for x in s: break", "o.append(str(s))")
USED = (
    "o.append(list(i))",
    "o.append(tuple(i))",
    "o.append([*i])",
    "o.append(len([*i]))",
    "o.append(sum(map(len, i)))",
    "o.append(sum(i, []))",
    "o.append(list(itertools.chain.from_iterable(i)))",
    "o.append(any(i))",
    "o.append(all(i))",
    "o.append(max(i, key=str))",
    "o.append(sorted(i, key=str))",
    "o.append(sorted(map(str, i)))",
    "o.append(next(iter(i), None))",
    "for x in i: o.append(x)",
    "o.append('-'.join(map(str, i)))",
    "o.append(1 in i)",
    "o.append(list(zip(i, 'xyz')))",
    "o.append(list(map(list, i)))",
    "o.append(list(map(len, i)))",
    "o.append(list(collections.deque(i, 1)))",
    "o.extend(i)",
    "o.append(len(list(filter(None, i))))",
    "o.append(list(itertools.islice(i, 1)))\no.append(list(i))",
    "o.append(functools.reduce(lambda a, b: b, i))",
    "a, *b = i\no.append((a, b))",
    "o.append(operator.countOf(i, 1))",
    "o.append(list(itertools.accumulate(i)))",
    "o.append(str(ValueError(list(i))))",
    "o.append(list(i) == [[0], [0]])",
    "o.append(json.dumps(list(i)))",
    "o.append(copy.deepcopy(list(i)))",
)


def composed(draw: random.Random) -> str:
    """An operation that makes something, looks, and uses what it made."""
    lines = [f"i = {draw.choice(MADE)}", draw.choice(BETWEEN), draw.choice(USED)]
    return "\n".join(line for line in lines if line)
