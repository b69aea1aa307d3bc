"""The callables of the census: those of some modules of the standard library, and the methods of the built-in types."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

MODULES = (
    "builtins",
    "operator",
    "functools",
    "itertools",
    "collections",
    "threading",
    "queue",
    "asyncio",
    "contextlib",
    "copy",
    "json",
    "dataclasses",
    "weakref",
    "logging",
    "random",
)

# A program sets them to functions of its own.
VARIABLES = ("excepthook",)

# What makes an object of a type, whose methods are those of the census.
MAKERS = {
    "list": "[1]",
    "dict": "{1: 1}",
    "set": "{1}",
    "frozenset": "frozenset((1,))",
    "tuple": "(1,)",
    "str": "'a'",
    "bytes": "b'a'",
    "bytearray": "bytearray(b'a')",
    "memoryview": "memoryview(bytearray(b'a'))",
    "int": "1",
    "float": "1.5",
    "complex": "1j",
    "bool": "True",
    "range": "range(3)",
    "slice": "slice(1)",
    "NoneType": "None",
    "object": "object()",
    "BaseException": "BaseException()",
    "dict_keys": "{1: 1}.keys()",
    "dict_values": "{1: 1}.values()",
    "dict_items": "{1: 1}.items()",
    "list_iterator": "iter([1])",
    "dict_keyiterator": "iter({1: 1})",
    "generator": "(n for n in [1])",
    "enumerate": "enumerate([1])",
    "zip": "zip([1])",
    "map": "map(str, [1])",
    "filter": "filter(None, [1])",
    "reversed": "reversed((1,))",
    "mappingproxy": "type.__dict__",
    "deque": "collections.deque([1])",
    "defaultdict": "collections.defaultdict(int)",
    "OrderedDict": "collections.OrderedDict(a=1)",
    "Counter": "collections.Counter('a')",
    "partial": "functools.partial(int)",
    "count": "itertools.count()",
    "chain": "itertools.chain([1])",
    "array": "array.array('i', [1])",
    "StringIO": "io.StringIO()",
    "BytesIO": "io.BytesIO()",
    "Random": "random.Random(1)",
    "ref": "weakref.ref(Kept)",
    "ContextVar": "contextvars.ContextVar('v')",
    "Context": "contextvars.copy_context()",
    "instance": "Kept()",
}
MODULES_OF_MAKERS = "array, collections, contextvars, functools, io, itertools, random, weakref"


class Kept:
    """A class with nothing of its own."""


def namespace() -> dict[str, Any]:
    """What the expressions of `MAKERS` are evaluated in."""
    found: dict[str, Any] = {name: importlib.import_module(name) for name in MODULES_OF_MAKERS.split(", ")}
    return {**found, "Kept": Kept}


def of_modules() -> Iterator[tuple[str, str, str]]:
    """Census name, module and attribute of each public callable of a module."""
    for module in MODULES:
        loaded = importlib.import_module(module)
        for name in sorted(dir(loaded)):
            special = name.startswith("_") and not (module == "operator" and name.startswith("__"))
            if not special and name not in VARIABLES and callable(getattr(loaded, name)):
                yield f"{module}.{name}", module, name


def of_types() -> Iterator[tuple[str, str, str]]:
    """Census name, type and method of each method of a built-in type."""
    known = namespace()
    for kind, made in MAKERS.items():
        value = eval(made, dict(known))
        for name in sorted(set(dir(value))):
            if callable(getattr(value, name, None)):
                yield f"{kind}.{name}", kind, name
