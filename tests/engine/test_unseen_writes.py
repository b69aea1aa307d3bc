"""What changes an object by a way that is no store to it is seen by other threads: the class of its class, a
descriptor, a coroutine that two threads advance, a buffer that is filled.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, Verdict

MODEL = """
import functools, io, operator, tempfile
import dpor

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
    except (RuntimeError, ValueError) as error:
        return str(error)

def temporary():
    file = tempfile.TemporaryFile()
    file.write(b"abc")
    file.seek(0)
    return file

@dpor.model
def model():
    s, out = {made}, []

    def change():
        {change}

    def look():
        out.append({look})

    dpor.spawn(change)
    dpor.spawn(look)
    dpor.join_all()
    assert out != [{seen}]
"""
# What is made, what one thread does, where the other looks, and what it sees before and after that.
WAYS = {
    "an attribute of a metaclass": ("Own", "Meta.limit = 2", "s.limit", "1", "2"),
    "a descriptor in Python": ("Settings()", "Settings.host = Given(2)", "s.host", "1", "2"),
    "a partial method": (
        "Settings()",
        "Settings.doubled = functools.partialmethod(Settings.scaled, 3)",
        "s.doubled(2)",
        "4",
        "6",
    ),
    "a slot by its descriptor": ("Slotted()", "Slotted.a.__set__(s, 1)", "s.a", "0", "1"),
    "a look by a slot's descriptor": ("Slotted()", "s.a = 1", "Slotted.a.__get__(s)", "0", "1"),
    "an attribute by the dict's descriptor": (
        "Settings()",
        "s.n = 1",
        "'n' in Settings.__dict__['__dict__'].__get__(s)",
        "False",
        "True",
    ),
    "a coroutine": (
        "count([])",
        "advanced(s)",
        "advanced(s)",
        "1",
        "'cannot reuse already awaited coroutine'",
    ),
    "a running coroutine": ("count([])", "advanced(s)", "advanced(s)", "1", "'coroutine already executing'"),
    "exceptions of a group": (
        "[ValueError()]",
        "s.append(KeyError())",
        "len(ExceptionGroup('g', s).exceptions)",
        "1",
        "2",
    ),
    "a buffer that a stream fills": (
        "(io.BytesIO(b'abc'), bytearray(2))",
        "s[0].readinto(s[1])",
        "bytes(s[1])",
        "bytes(2)",
        "b'ab'",
    ),
    "a buffer that a file fills": (
        "(temporary(), bytearray(2))",
        "s[0].readinto(s[1])",
        "bytes(s[1])",
        "bytes(2)",
        "b'ab'",
    ),
    "buffers in a list": (
        "[bytearray(b'a')]",
        "s[0][0] = 65",
        "(lambda stream: (stream.writelines(s), stream.getvalue())[1])(io.BytesIO())",
        "b'a'",
        "b'A'",
    ),
    "the dict of a function": (
        "decorated",
        "s.__dict__.update({'k': 1})",
        "hasattr(s, 'k')",
        "False",
        "True",
    ),
    "the text of a generic alias": ("[int]", "s.append(str)", "'str' in repr(list[s])", "False", "True"),
    "the text of a getter": ("[1]", "s.append(2)", "'2' in repr(operator.itemgetter(s))", "False", "True"),
}


def check(folder: Path, **parts: str) -> ModelResult:
    text = MODEL
    for name, part in parts.items():
        text = text.replace("{" + name + "}", part)
    (folder / "model.py").write_text(text, encoding="utf-8")
    return check_model(CheckRequest("model.py", "model", str(folder)))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", WAYS)
def test_another_thread_can_look_before_and_after(tmp_path: Path, name: str, after: bool) -> None:
    made, change, look, old, new = WAYS[name]
    seen = new if after else old
    result = check(tmp_path, made=made, change=change, look=look, seen=seen)
    assert result.verdict is Verdict.VIOLATED, result


@pytest.mark.parametrize("name", ["__closure__", "__kwdefaults__"])
def test_what_a_function_is_made_of_is_refused_beside_other_threads(tmp_path: Path, name: str) -> None:
    with pytest.raises(DporError) as raised:
        check(tmp_path, made="decorated", change="pass", look=f"s.{name}", seen="1")
    assert raised.value.code is Code.UNCONTROLLED
