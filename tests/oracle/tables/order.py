"""Objects of which only the look at the end tells in which order threads did what they did to them.

The operations commute in all else, so that an order is explored for the sake of that look alone.
"""

from __future__ import annotations

from oracle.tables.kinds import Kind

_STORES = (
    "s['a'] = 1",
    "s['b'] = 2",
    "s['c'] = 3",
    "s.setdefault('d', 4)",
    "s.update(b=5, e=6)",
    "s.pop('a', 0)",
    "del s['b']",
    "o.append('a' in s)",
    "o.append(s.get('b'))",
    "o.append(len(s))",
    "s |= {'a': 7}",
)
# 0, 8 and 16 want one place in the smallest table, and 32 is a reason for a larger one.
_ADDITIONS = (
    "s.add(0)",
    "s.add(8)",
    "s.add(16)",
    "s.add(1)",
    "s.update({8, 32})",
    "s.discard(0)",
    "s.discard(8)",
    "s.remove(16)",
    "s |= {24}",
    "s -= {0}",
    "o.append(0 in s)",
    "o.append(len(s))",
    "o.append(s == {0, 8})",
)
_ATTRIBUTES = (
    "s.one = 1",
    "s.two = 2",
    "setattr(s, 'three', 3)",
    "vars(s)['four'] = 4",
    "s.__dict__.update(five=5)",
    "del s.one",
    "o.append(hasattr(s, 'one'))",
    "o.append(getattr(s, 'two', 0))",
)
_THREADS = (
    "s[0] = threading.Thread(target=len)",
    "s[1] = threading.Thread(target=len)",
    "s[0] = threading.Thread(target=len, name='given')",
    "threading.Timer(1, len)",
    "s[1] = s[0]",
    "o.append(s[0] is None)",
)

_VARIABLES = (
    # Each in a scope of its own: a name cannot be declared after it was used.
    "def store():\n    global made_a\n    made_a = 1\nstore()",
    "def store():\n    global made_b\n    made_b = 2\nstore()",
    "globals()['made_a'] = 3",
    "o.append('made_a' in globals())",
    "o.append('made_b' in list(globals()))",
    "o.append(globals().get('made_a'))",
    "o.append([name for name in globals() if name.startswith('made_')])",
    "o.append(globals().copy().get('made_b'))",
    "o.append(sum(name.startswith('made_') for name in [*globals()]))",
)


def _kinds(name: str, make: str, looks: dict[str, str], operations: tuple[str, ...]) -> tuple[Kind, ...]:
    return tuple(Kind(f"{name}, {what}", make, look, operations) for what, look in looks.items())


ORDER = (
    *_kinds(
        "dict",
        "{}",
        {
            "last taken": "s.popitem() if s else None",
            "last shown": "next(reversed(s), None)",
            "unpacked": "[*s]",
            "greatest": "max(s, key=len, default=None)",
        },
        _STORES,
    ),
    *_kinds(
        "OrderedDict",
        "collections.OrderedDict()",
        {
            "first taken": "s.popitem(last=False) if s else None",
            "compared": "s == collections.OrderedDict(a=1, b=2)",
        },
        (*_STORES, "s.move_to_end('a')", "s.move_to_end('b', last=False)"),
    ),
    *_kinds(
        "Counter",
        "collections.Counter()",
        {"most common": "s.most_common(1)"},
        (
            "s['a'] += 1",
            "s['b'] += 1",
            "s.update('ab')",
            "s.subtract('c')",
            "o.append(s['a'])",
            "o.append(s.total())",
        ),
    ),
    *_kinds(
        "set",
        "set()",
        {
            "listed": "list(s)",
            "one taken": "s.pop() if s else None",
            "text": "str(s)",
            "copied": "list(s.copy())",
            "frozen": "list(frozenset(s))",
            "joined": "list(s | {1})",
        },
        _ADDITIONS,
    ),
    *_kinds(
        "attributes",
        "types.SimpleNamespace()",
        {"listed": "list(vars(s))", "last": "next(reversed(vars(s)), None)", "text": "repr(s)"},
        _ATTRIBUTES,
    ),
    *_kinds(
        "variables",
        "[globals().pop(name, None) and 0 for name in ('made_a', 'made_b')]",
        {"listed": "[name for name in globals() if name.startswith('made_')]"},
        _VARIABLES,
    ),
    *_kinds(
        "threads",
        "[None, None]",
        {"by name": "[None not in s and number_of(s[0]) < number_of(s[1])]"},
        _THREADS,
    ),
)
