"""Reads messages as LSP's base protocol frames them: header fields, an empty line, a body of so many bytes.

https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol

Two things are taken more widely than they are written there, since clients differ: names of fields in any case, and
lines that end with a line feed alone. What is no frame costs one error; reading goes on with the next header.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Executor
from typing import BinaryIO, Protocol

LONGEST_LINE = 4096
"""Bytes of a line of the header, at most."""
LARGEST_BODY = 64 << 20
"""Bytes of a message, at most."""

_FIELD = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]+)[ \t]*\r?\n?\Z", re.IGNORECASE)
_LONGEST_FIELD = 64


class FramingError(Exception):
    """What came in is no message of the base protocol; the text says what is wrong with it."""


class ByteSource(Protocol):
    """Where bytes come from. Both methods return less than was asked for at the end of input only."""

    async def line(self) -> bytes:
        """Return a line with its end, or the first `LONGEST_LINE` bytes of a longer one; empty at the end of input."""
        ...

    async def exactly(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        ...


class FileSource:
    """A file that blocks, such as standard input, read by threads of `executor`."""

    def __init__(self, file: BinaryIO, executor: Executor) -> None:
        self._file = file
        self._executor = executor

    async def line(self) -> bytes:
        """See `ByteSource`."""
        return await self._read(lambda: self._file.readline(LONGEST_LINE))

    async def exactly(self, count: int) -> bytes:
        """See `ByteSource`."""
        return await self._read(lambda: self._file.read(count))

    async def _read(self, read: Callable[[], bytes]) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._executor, read)


class StreamSource:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def line(self) -> bytes:
        """See `ByteSource`."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            return await self._reader.readexactly(LONGEST_LINE)

    async def exactly(self, count: int) -> bytes:
        """See `ByteSource`."""
        try:
            return await self._reader.readexactly(count)
        except asyncio.IncompleteReadError as error:
            return error.partial


class MessageReader:
    """Reads the bodies of messages, one after the other."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        # The header that what was no frame ended with.
        self._kept = b""
        # The end of what was no frame: a header may begin in it.
        self._before = b""
        self._lost = False

    async def body(self) -> bytes | None:
        """Return the next message's body, or None at the end of input.

        Raises FramingError for what is no message. The next call looks for the next header, and says nothing of what
        comes before it.
        """
        if self._lost and not await self._find_header():
            return None
        length: int | None = None
        while True:
            line = await self._line()
            if not line:
                return None
            if not line.strip():
                if length is None:
                    raise self._bad("a header without Content-Length", b"")
                break
            length = self._length(line, length)
        body = await self._source.exactly(length)
        return body if len(body) == length else None

    def _length(self, line: bytes, former: int | None) -> int | None:
        """The length of the body, after one more line of the header."""
        name, colon, value = line.partition(b":")
        field = name.strip().lower()
        if not line.endswith(b"\n") or not colon or field not in (b"content-length", b"content-type"):
            raise self._bad(f"{_shown(line)} is no header field of the protocol", line)
        if field == b"content-type":
            return former
        digits = value.strip()
        if not digits.isdigit() or len(digits) > len(str(LARGEST_BODY)) or int(digits) > LARGEST_BODY:
            raise self._bad(f"{_shown(line)}: a message has at most {LARGEST_BODY} bytes", b"")
        return int(digits)

    async def _line(self) -> bytes:
        line, self._kept = self._kept, b""
        return line or await self._source.line()

    def _bad(self, text: str, line: bytes) -> FramingError:
        found = _FIELD.search(line) if line.endswith(b"\n") else None
        self._kept = line[found.start() :] if found else b""
        self._before = b"" if line.endswith(b"\n") else line[-_LONGEST_FIELD:]
        self._lost = not found
        return FramingError(text)

    async def _find_header(self) -> bool:
        """Go on to a line that ends with the field that every header has; False at the end of input."""
        before = self._before
        while piece := await self._source.line():
            found = _FIELD.search(before + piece)
            if found and piece.endswith(b"\n"):
                self._kept = (before + piece)[found.start() :]
                self._lost = False
                return True
            # The line may be longer than one piece.
            before = b"" if piece.endswith(b"\n") else piece[-_LONGEST_FIELD:]
        return False


def _shown(line: bytes) -> str:
    text = line.strip()
    return repr(text[:40].decode("ascii", "replace")) + ("..." if len(text) > 40 else "")
