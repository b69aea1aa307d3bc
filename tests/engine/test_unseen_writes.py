"""What changes an object by a way that is no store to it is seen by other threads: the class of its class, a
descriptor, a coroutine that two threads advance, a buffer that is filled.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import Verdict

HEADER = """
import functools, io, operator, tempfile

class Meta(type):
    limit = 1

class Own(metaclass=Meta):
    pass

class Given:
    def __init__(self, value):
        self.value = value

    def __get__(self, obj, owner=None):
        return self.value

class Settings:
    host = Given(1)

    def scaled(self, factor, number):
        return factor * number

    doubled = functools.partialmethod(scaled, 2)

class Slotted:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 0

def decorated():
    pass

async def count(items):
    items.append(1)
    return len(items)

def advanced(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    except ValueError as error:
        return str(error)

def temporary():
    file = tempfile.TemporaryFile()
    file.write(b"abc")
    file.seek(0)
    return file

def written(lines):
    stream = io.BytesIO()
    stream.writelines(lines)
    return stream.getvalue()
"""
# What is made, what one thread does and where the other looks.
WAYS = {
    "an attribute of a metaclass": ("Own", "setattr(Meta, 'limit', 2)", "s.limit"),
    "a descriptor in Python": ("Settings()", "setattr(Settings, 'host', Given(2))", "s.host"),
    "a partial method": (
        "Settings()",
        "setattr(Settings, 'doubled', functools.partialmethod(Settings.scaled, 3))",
        "s.doubled(2)",
    ),
    "a slot by its descriptor": ("Slotted()", "Slotted.a.__set__(s, 1)", "s.a"),
    "a look by a slot's descriptor": ("Slotted()", "setattr(s, 'a', 1)", "Slotted.a.__get__(s)"),
    "attributes by the dict's descriptor": (
        "Settings()",
        "setattr(s, 'n', 1)",
        "'n' in Settings.__dict__['__dict__'].__get__(s)",
    ),
    "a coroutine": ("count([])", "advanced(s)", "advanced(s)"),
    "exceptions of a group": (
        "[ValueError()]",
        "s.append(KeyError())",
        "len(ExceptionGroup('g', s).exceptions)",
    ),
    "a buffer that a stream fills": (
        "(io.BytesIO(b'abc'), bytearray(2))",
        "s[0].readinto(s[1])",
        "bytes(s[1])",
    ),
    "a buffer that a file fills": ("(temporary(), bytearray(2))", "s[0].readinto(s[1])", "bytes(s[1])"),
    "buffers in a list": ("[bytearray(b'a')]", "s[0].upper() and s[0].extend(b'b')", "written(s)"),
    "the dict of a function": ("decorated", "s.__dict__.update({'k': 1})", "hasattr(s, 'k')"),
    "the text of a generic alias": ("[int]", "s.append(str)", "repr(list[s])"),
    "the text of a getter": ("[1]", "s.append(2)", "repr(operator.itemgetter(s))"),
}


@pytest.fixture
def either(tmp_path: Path) -> EitherOrder:
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("name", WAYS)
def test_another_thread_can_look_before_and_after(either: EitherOrder, name: str) -> None:
    either.require_both(*WAYS[name])


def test_a_coroutine_can_be_found_running(either: EitherOrder) -> None:
    running = repr(["coroutine already executing", 1])
    assert either.check("count([])", "advanced(s)", "advanced(s)", running).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", ["__closure__", "__kwdefaults__"])
def test_what_a_function_is_made_of_is_refused_beside_other_threads(either: EitherOrder, name: str) -> None:
    with pytest.raises(DporError) as raised:
        either.check("decorated", "None", f"s.{name}")
    assert raised.value.code is Code.UNCONTROLLED
