"""What objects in C show of what other threads do to them: by attributes, and of a buffer that they keep unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import io
import re
import ssl
import threading
import zlib
import dpor

@dpor.model
def model():
    shared = {make}
    def change():
        {change}
    thread = threading.Thread(target=change)
    thread.start()
    seen = {look}
    thread.join()
    assert seen is {seen}
"""
CASES = {
    "field of a class that C makes at run time": (
        "zlib.decompressobj()",
        "shared.decompress(zlib.compress(b'abc'))",
        "shared.eof",
    ),
    "attribute of a decoder": (
        "io.IncrementalNewlineDecoder(None, False)",
        "shared.decode('a\\n')",
        "shared.newlines is not None",
    ),
    "property over super": (
        "ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)",
        "shared.options |= ssl.OP_NO_TICKET",
        "bool(shared.options & ssl.OP_NO_TICKET)",
    ),
    "buffer behind a scanner": (
        "[bytearray(b'a')]; scanner = re.compile(b'b').scanner(shared[0])",
        "shared[0][0] = 98",
        "scanner.search() is not None",
    ),
    "buffer behind an iterator": (
        "[bytearray(b'a')]; found = re.finditer(b'b', shared[0])",
        "shared[0][0] = 98",
        "next(found, None) is not None",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_change_comes_before_or_after_the_look(tmp_path: Path, case: str) -> None:
    make, change, look = CASES[case]
    for seen in (True, False):
        # The other one is a counterexample.
        text = MODEL.format(make=make, change=change, look=look, seen=seen)
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        result = check_model(CheckRequest("model.py", "model", root=str(tmp_path)))
        assert result.verdict is Verdict.VIOLATED, (seen, result.reason)


GIVEN = """
import threading
import dpor

@dpor.model
def model():
    low, high, seen = bytearray(b"a"), bytearray(b"b"), []
    def change():
        max(low, high)[0] = 99
    def look():
        seen.append(high[0])
    threads = [threading.Thread(target=function) for function in (look, change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [ITEM]
"""


@pytest.mark.parametrize("item", [98, 99])
def test_a_buffer_that_is_given_back_stays_what_it_is(tmp_path: Path, item: int) -> None:
    (tmp_path / "model.py").write_text(GIVEN.replace("ITEM", str(item)), encoding="utf-8")
    assert check_model(CheckRequest("model.py", "model", root=str(tmp_path))).verdict is Verdict.VIOLATED


KEPT = """
import enum
import threading
import dpor

class Number(int):
    pass

class Text(str):
    pass

class Level(enum.IntEnum):
    LOW = 1

class Name(str, enum.Enum):
    FIRST = "first"

class Flags(enum.IntFlag):
    ONE = 1
    TWO = 2

NUMBERS = list(map(Number, [1]))
TEXTS = [*map(Text, "a")]

@dpor.model
def model():
    kept = {kept}
    assert not hasattr(kept, "given")
    def give():
        kept.given = 1
    thread = threading.Thread(target=give)
    thread.start()
    getattr(kept, "given", 0)
    thread.join()
"""


@pytest.mark.parametrize("kept", ["Level.LOW", "Name.FIRST", "Flags.TWO", "NUMBERS[0]", "TEXTS[0]"])
def test_an_attribute_of_a_number_or_text_does_not_outlive_an_execution(tmp_path: Path, kept: str) -> None:
    (tmp_path / "model.py").write_text(KEPT.replace("{kept}", kept), encoding="utf-8")
    result = check_model(CheckRequest("model.py", "model", root=str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)
