"""Short texts of values, made without running any code of the user's.

A user's `__repr__` could read shared state, and so be a visible operation of its own: only built-in values
are shown by content; everything else is shown by its readable name.
"""

from __future__ import annotations

import collections
import enum
import re
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

LONGEST = 60
_LONGEST_KEY = 24
_MOST_ITEMS = 6
_DEEPEST = 3
_MOST_BITS = 400
SKETCHED_LONGEST = 240
_SKETCHED_ITEMS = 50
# A private-use character: `repr` never gives one, so no value can be mistaken for a mark.
_MARK = "\ue000"
_MARKED = re.compile(f"{_MARK}(\\d+){_MARK}")

_PLAIN = (bool, float, complex, type(None), type(...), type(NotImplemented), range)
# By name, so that none of these modules is imported for a model that does not use it.
_PLAIN_OF_LIBRARY = frozenset(
    {
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("uuid", "UUID"),
        ("pathlib", "PosixPath"),
        ("pathlib", "PurePosixPath"),
        ("pathlib", "WindowsPath"),
        ("pathlib", "PureWindowsPath"),
    }
)
_SEQUENCES: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    collections.deque: ("deque([", "])"),
}
_MAPPINGS: dict[type, tuple[str, str]] = {
    dict: ("{", "}"),
    collections.OrderedDict: ("{", "}"),
    collections.defaultdict: ("{", "}"),
    collections.Counter: ("{", "}"),
}
_IMMUTABLE = (
    int,
    str,
    bytes,
    tuple,
    frozenset,
    enum.Enum,
    BaseException,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    slice,
)

_plain_tuple: type[Any] = tuple
_ADDRESS = re.compile(r"\b\d{11,}\b")

Namer = Callable[[object], str]


@dataclass(frozen=True)
class _Style:
    """How values are described: what names objects, how many items of the outermost container and
    characters of a text show.
    """

    name: Namer
    items: int = _MOST_ITEMS
    longest: int = LONGEST


def describe(value: object, name: Namer) -> str:
    """The text of a value, at most `LONGEST` characters; `name` gives the readable name of an object."""
    return shorten(_describe(value, _Style(name), 0), LONGEST)


def describe_key(key: object, name: Namer) -> str:
    """The text of an item's key, at most 24 characters.

    A number that can be an address is left out: modules of the standard library keep by it what they are doing with an
    object (`copy`, `reprlib`), and it is another one in each execution.
    """
    text = _describe(key, _Style(name), 1)
    if type(key) is int or type(key) is tuple:
        text = _ADDRESS.sub("…", text)
    return shorten(text, _LONGEST_KEY)


@dataclass(frozen=True)
class Sketch:
    """What a value was at one time, with the names of the objects in it left open until they are known.

    `template` is its text, with a mark in the place of each of `objects`, which are kept alive. Two sketches are the
    same if the text is and the objects are identical.
    """

    template: str
    objects: tuple[object, ...] = ()

    @classmethod
    def of(cls, value: object) -> Sketch:
        """The sketch of a value; no code of the value's class runs."""
        objects: list[object] = []

        def mark(item: object) -> str:
            objects.append(item)
            return f"{_MARK}{len(objects) - 1}{_MARK}"

        text = _describe(value, _Style(mark, _SKETCHED_ITEMS, SKETCHED_LONGEST), 0)
        return cls(text, tuple(objects))

    def is_same(self, other: Sketch) -> bool:
        """True if nothing that shows has changed between the two."""
        return (
            self.template == other.template
            and len(self.objects) == len(other.objects)
            and all(one is another for one, another in zip(self.objects, other.objects, strict=True))
        )

    @property
    def alone(self) -> object:
        """The object that the value was, if it was one that is shown by its name alone; else None."""
        return self.objects[0] if self.template == f"{_MARK}0{_MARK}" else None

    def text(self, name: Namer) -> str:
        """The text of the value, at most `SKETCHED_LONGEST` characters, with names from `name`."""
        text = _MARKED.sub(lambda found: name(self.objects[int(found[1])]), self.template)
        return shorten(text, SKETCHED_LONGEST)


def shorten(text: str, longest: int) -> str:
    """`text`, with its middle replaced by `…` if it has more than `longest` characters; always one line."""
    text = " ".join(text.split()) if not text.isprintable() else text
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def is_symbolic(value: object) -> bool:
    """True for a symbolic value of a model."""
    return hasattr(type(value), "__dpor_symbolic__")


def shown(value: Any) -> int | bool:
    """The number that stands for a symbolic value in the execution that is shown."""
    return value.__dpor_shown__()


def is_value(value: object) -> bool:
    """True for what is shown by content alone and has no identity worth a name: numbers, strings, tuples."""
    cls = type(value)
    return issubclass(cls, _IMMUTABLE) or _is_plain(value) or is_symbolic(value)


def is_content(value: object) -> bool:
    """True for a built-in container that is shown by what it holds at the time."""
    return type(value) in _SEQUENCES or type(value) in _MAPPINGS or type(value) is bytearray


def class_name(value: object) -> str:
    """The name of a value's class, without asking a metaclass or a `__class__` property.

    A lock is called what programs call it to make one.
    """
    name = type.__dict__["__name__"].__get__(type(value))
    return "Lock" if name == "lock" and class_module(value) == "_thread" else name


def has_method(value: object, name: str) -> bool:
    """True if the class of a value defines `name`, without asking the class."""
    return any(name in cls.__dict__ for cls in type.__dict__["__mro__"].__get__(type(value)))


def class_module(value: object) -> str:
    """The module of a value's class, without asking a metaclass; empty if the class does not say."""
    module = type.__dict__["__module__"].__get__(type(value))
    return module if type(module) is str else ""


def instance_dict(value: object) -> dict[str, Any]:
    """The attributes kept in an instance, without asking any code of its class; empty if it keeps none."""
    for cls in type.__dict__["__mro__"].__get__(type(value)):
        descriptor = type.__dict__["__dict__"].__get__(cls).get("__dict__")
        if descriptor is not None:
            if isinstance(descriptor, types.GetSetDescriptorType | types.MemberDescriptorType):
                found = descriptor.__get__(value)
                return cast("dict[str, Any]", found) if type(found) is dict else {}
            return {}
    return {}


def _describe(value: Any, style: _Style, depth: int) -> str:
    cls = cast("type[Any]", type(value))
    if issubclass(cls, enum.Enum):
        attributes = instance_dict(value)
        name = attributes.get("_name_")
        # Flags that are none of the class's members, nor made of them.
        return (
            f"{cls.__name__}({attributes.get('_value_', '?')})" if name is None else f"{cls.__name__}.{name}"
        )
    if _is_plain(value):
        return repr(value)
    if is_symbolic(value):
        value = shown(value)
        cls = cast("type[Any]", type(value))
    if issubclass(cls, int):
        return int.__repr__(value) if int.bit_length(value) < _MOST_BITS else _huge(value)
    if issubclass(cls, str):
        return str.__repr__(str.__getitem__(value, slice(style.longest + 2)))
    if cls in (bytes, bytearray):
        return repr(bytes(value[: style.longest + 2]))
    if cls in _SEQUENCES:
        return _sequence(value, style, depth)
    if cls in _MAPPINGS:
        return _mapping(value, style, depth)
    if issubclass(cls, tuple):
        return _named_tuple(value, style, depth)
    if cls is slice:
        bounds = (value.start, value.stop, value.step)
        return ":".join("" if bound is None else _describe(bound, style, depth + 1) for bound in bounds)
    if cls is types.MethodType:
        return f"{_describe(value.__self__, style, depth + 1)}.{getattr(value.__func__, '__name__', '?')}"
    if cls in (types.FunctionType, types.BuiltinFunctionType):
        return value.__qualname__.rpartition("<locals>.")[2]
    if issubclass(cls, type):
        return type.__dict__["__name__"].__get__(value)
    if issubclass(cls, types.ModuleType):
        return str(instance_dict(value).get("__name__", "module"))
    if issubclass(cls, BaseException):
        arguments = BaseException.__dict__["args"].__get__(value)
        return f"{class_name(value)}({', '.join(_items(arguments, style, depth))})"
    return style.name(value)


def _is_plain(value: object) -> bool:
    """True for a value whose class is known to have a harmless `__repr__`."""
    return (
        type(value) in _PLAIN
        or (class_module(value).partition(".")[0], class_name(value)) in _PLAIN_OF_LIBRARY
    )


def _huge(value: int) -> str:
    return f"{'-' if int.__lt__(value, 0) else ''}<integer of {int.bit_length(value)} bits>"


def _sequence(value: Any, style: _Style, depth: int) -> str:
    opening, closing = _SEQUENCES[type(value)]
    if depth >= _DEEPEST and value:
        return f"{opening}…{closing}"
    texts = _items(value, style, depth)
    if type(value) in (set, frozenset):
        texts.sort()
        if not texts:
            return f"{type(value).__name__}()"
    if opening == "(" and len(texts) == 1:
        return f"({texts[0]},)"
    return f"{opening}{', '.join(texts)}{closing}"


def _mapping(value: Any, style: _Style, depth: int) -> str:
    opening, closing = _MAPPINGS[type(value)]
    if depth >= _DEEPEST and value:
        return f"{opening}…{closing}"
    texts: list[str] = []
    for number, (key, item) in enumerate(cast("dict[Any, Any]", value).items()):
        if number == (_MOST_ITEMS if depth else style.items):
            texts.append("…")
            break
        texts.append(f"{_describe(key, style, depth + 1)}: {_describe(item, style, depth + 1)}")
    return f"{opening}{', '.join(texts)}{closing}"


def _named_tuple(value: Any, style: _Style, depth: int) -> str:
    items: list[Any] = list(_plain_tuple.__iter__(value))
    texts = _items(items, style, depth)
    fields: Any = type.__dict__["__dict__"].__get__(type(value)).get("_fields", ())
    if len(fields) == len(items):
        texts = [f"{field}={text}" for field, text in zip(fields, texts, strict=False)]
    return f"{class_name(value)}({', '.join(texts)})"


def _items(values: Iterable[Any], style: _Style, depth: int) -> list[str]:
    texts: list[str] = []
    for number, item in enumerate(values):
        if number == (_MOST_ITEMS if depth else style.items):
            texts.append("…")
            break
        texts.append(_describe(item, style, depth + 1))
    return texts
