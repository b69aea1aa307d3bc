"""open() and the file objects that it makes.

They are the interpreter's own, on real files in the scratch folder, so that buffers and positions are what they are
without a check. Each method is one operation: it changes the file object, and reads or changes the file beneath it
unless the object's buffer certainly takes all of it.
"""

from __future__ import annotations

import contextlib
import io
import os
import weakref
from collections.abc import Callable
from typing import Any, cast

from dpor.runtime import current
from dpor.runtime.factories import Factory
from dpor.runtime.outside.descriptors import Descriptors
from dpor.runtime.outside.filesystem import FileSystem, label
from dpor.runtime.outside.numbers import Numbers, OpenFile
from dpor.runtime.outside.real import RawFile as RealRawFile
from dpor.runtime.outside.real import open_file, system
from dpor.runtime.outside.visible_attributes import Access, attribute_methods
from dpor.runtime.outside.world import Footprint
from dpor.runtime.thread_bound import note_use

# No buffer of the interpreter is smaller, neither that of bytes nor that of text, unless the model says so.
_SMALLEST_BUFFER = 4096
_BYTES_A_CHARACTER = 4

_READING = (
    "read",
    "read1",
    "readline",
    "readinto",
    "readinto1",
    "readall",
    "peek",
    "__next__",
)
# They put what they read into a buffer that they are given.
_FILLING = ("readinto", "readinto1")
_POSITION = ("seek", "tell", "reconfigure", "detach")
# `writelines` and `readlines` call these for each line.
_WRITING = ("write", "truncate", "flush", "close")
# They tell or refuse by whether the file object is closed.
_LOOKING = ("fileno", "isatty", "readable", "writable", "seekable")
# Methods that change what attributes give.
_SETTING = ("detach", "reconfigure")
# Attributes that no other method changes.
_LASTING = frozenset({"buffer", "closefd", "encoding", "errors", "mode", "name", "raw"})


class Opened:
    """What the file objects on top of one another share: the open file, its number and what waits in their buffers.

    `unwritten` is at least the number of bytes that were written and may not have reached the file; `busy` says that a
    method of one of the objects is at work, which calls those of the objects beneath it; `closer` is the thread that
    has closed them; `decodes` says that the topmost turns bytes into text, by code in Python.
    """

    __slots__ = ("buffer", "busy", "closer", "decodes", "descriptors", "file", "number", "unwritten")

    def __init__(self, descriptors: Descriptors, file: OpenFile, number: int) -> None:
        self.descriptors = descriptors
        self.file = file
        self.number = number
        self.buffer = 0
        self.unwritten = 0
        self.busy = False
        self.closer: int | None = None
        self.decodes = False


def _accessed(opened: Opened, name: str, args: tuple[Any, ...]) -> Footprint:
    """What a method does if it is called now."""
    file = opened.file
    own = Footprint((file.openness,), (file.name,))
    if opened.closer is not None:
        return Footprint((), (file.name,))
    beneath = opened.descriptors.beneath(opened.number, file)
    if beneath is not None:
        # Somebody has closed the descriptor of the file object, and maybe opened another file by its number.
        return beneath.also(own)
    if name in _LOOKING or name == "closed":
        return Footprint((file.name, file.openness))
    if name in _SETTING:
        own = own.also(Footprint((), (_attributes(file),)))
    if name == "close":
        own = own.also(Numbers.footprint_of_closing(file))
    reads, writes = Footprint((file.content,)), Footprint((), (file.content,))
    if name == "truncate":
        return own.also(writes)
    if name == "write":
        fits = opened.unwritten + _written(args) <= opened.buffer
        return own if fits else own.also(writes)
    if opened.unwritten:
        return own.also(writes)
    return own if name in ("flush", "close", "tell", "detach", "reconfigure") else own.also(reads)


def _attributes(file: OpenFile) -> str:
    """The name of the attributes of the file objects on an open file."""
    return f"attributes of {file.name}"


def _access_attribute(self: Any, name: str, kind: Access) -> None:
    opened: Opened | None = getattr(self, "dpor_opened", None)
    if opened is None or opened.busy or current.active_host() is None:
        return
    if kind is Access.UNSEEN:
        opened.descriptors.refuse(f"uses or replaces {name} of a file object, which nobody sees")
    attributes = _attributes(opened.file)
    if kind is Access.STORE:
        footprint = Footprint((), (opened.file.name, attributes))
    elif name in _LASTING:
        footprint = Footprint((attributes,))
    else:
        footprint = Footprint((opened.file.name, attributes))
    label = f"{name} of {os.path.basename(opened.file.path)!r}"
    opened.descriptors.perform(label, opened.file, lambda: footprint)


def _written(args: tuple[Any, ...]) -> int:
    """How many bytes a call of `write` writes at most."""
    return _size(args[0]) if args else 0


def _size(data: Any) -> int:
    if isinstance(data, str):
        return len(data) * _BYTES_A_CHARACTER
    try:
        return memoryview(data).nbytes
    except TypeError:
        return _SMALLEST_BUFFER + 1


def _method(base: type, name: str) -> Callable[..., Any]:
    real = getattr(base, name)
    if not callable(real):
        real = real.__get__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        opened: Opened | None = getattr(self, "dpor_opened", None)
        host = current.active_host()
        if opened is None or opened.busy or host is None:
            return real(self, *args, **kwargs)
        if opened.closer == host.current_index():
            # It stays closed, as the thread knows. The interpreter asks often when file objects end.
            return real(self, *args, **kwargs)
        if opened.decodes:
            note_use(self)
        function = f"{name}({os.path.basename(opened.file.path)!r})"
        opened.descriptors.perform(function, opened.file, lambda: _accessed(opened, name, args))
        if name == "fileno":
            opened.descriptors.show("fileno")
        if name == "write":
            opened.unwritten += _written(args)
        if name in _FILLING:
            for buffer in args:
                host.access_whole(buffer, True)
        if name == "close":
            return _close(self, opened, real, host.current_index())
        opened.busy = True
        try:
            found = real(self, *args, **kwargs)
        finally:
            opened.busy = False
        if name in ("flush", "seek", "truncate"):
            opened.unwritten = 0
        return found

    method.__name__ = name
    method.__qualname__ = f"{base.__name__}.{name}"
    method.__doc__ = real.__doc__
    return method


def _close(stream: Any, opened: Opened, real: Callable[..., Any], thread: int) -> Any:
    ended = None
    opened.busy = True
    try:
        descriptor = _descriptor(stream)
        try:
            return real(stream)
        finally:
            ended = opened.descriptors.closed(descriptor)
            opened.closer = thread
    finally:
        opened.busy = False
        opened.descriptors.give_up_lock(ended)


def _prints_at_once(self: Any, text: str) -> bool:
    """Whether no other thread can come between the calls of `write` that `print` makes for a text: the file has no
    decoder, which is written in Python, and its buffer takes all of them.
    """
    opened: Opened | None = getattr(self, "dpor_opened", None)
    if opened is None or opened.busy or getattr(self, "line_buffering", True):
        return False
    opened.busy = True
    try:
        closed = self.closed
    finally:
        opened.busy = False
    return not closed and not opened.decodes and opened.unwritten + _size(text) <= opened.buffer


def _descriptor(stream: Any) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return -1


def _class(base: type) -> type:
    """A class of file objects whose methods are visible operations."""
    names = [name for name in (*_READING, *_POSITION, *_WRITING, *_LOOKING) if hasattr(base, name)]
    body: dict[str, Any] = {name: _method(base, name) for name in names}
    body.update(attribute_methods(base, _access_attribute))
    body["closed"] = property(_method(base, "closed"))
    body["dpor_prints_at_once"] = _prints_at_once
    # The file is closed where the last reference to it ends, which the kernel must not put off.
    body["__dpor_untracked__"] = True
    body["__module__"] = base.__module__
    body["__doc__"] = base.__doc__
    return type(base.__name__, (base,), body)


RawFile: Any = _class(RealRawFile)
_BufferedReader: Any = _class(io.BufferedReader)
_BufferedWriter: Any = _class(io.BufferedWriter)
_BufferedRandom: Any = _class(io.BufferedRandom)
_TextFile: Any = _class(io.TextIOWrapper)


class Streams:
    """Stand-ins for open() and io.FileIO."""

    def __init__(self, files: FileSystem, descriptors: Descriptors) -> None:
        self._files = files
        self._descriptors = descriptors
        self._controls = files.world.controls
        self._open: list[weakref.ref[Any]] = []

    def reset(self, imported: bool = False) -> None:
        """Close what the last execution has left open; with `imported` also what was opened during the import."""
        if not self._open and not self._files.descriptors:
            return
        kept: list[weakref.ref[Any]] = []
        for reference in self._open:
            stream = reference()
            if stream is None:
                continue
            if stream.dpor_opened.file.execution is None and not imported:
                kept.append(reference)
            else:
                _abandon(stream)
        self._open = kept
        for descriptor, opened in self._files.descriptors.items():
            if opened.execution is None and not imported:
                continue
            self._files.descriptors.forget(descriptor)
            try:
                system.close(descriptor)
            except OSError:
                # It was the stream's.
                continue

    def open(self) -> Callable[..., Any]:
        """What stands in for the function."""

        def open(
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            closefd: bool = True,
            opener: Callable[[str, int], int] | None = None,
        ) -> Any:
            if not self._controls():
                return open_file(file, mode, buffering, encoding, errors, newline, closefd, opener)
            return self._opened(file, mode, buffering, encoding, errors, newline, closefd, opener)

        open.__module__ = "_io"
        open.__doc__ = open_file.__doc__
        return open

    def raw(self) -> Any:
        """What stands in for io.FileIO."""
        streams = self

        class RawFactory(Factory):
            def __call__(self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None) -> Any:
                if not streams._controls():
                    return RealRawFile(file, mode, closefd, opener)
                if isinstance(file, int) and not streams._descriptors.is_open(file):
                    return RealRawFile(file, mode, closefd, opener)
                return streams._noted(streams._raw(file, mode, closefd, opener))

        return RawFactory(self._files.world.mode.controls, RawFile, RealRawFile)

    def _opened(
        self,
        file: Any,
        mode: str,
        buffering: int,
        encoding: str | None,
        errors: str | None,
        newline: str | None,
        closefd: bool,
        opener: Any,
    ) -> Any:
        if not isinstance(file, int):
            file = cast(Any, os.fspath(file))
        if isinstance(file, int) and not self._descriptors.is_open(file):
            return open_file(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if not _is_usual(mode, buffering, encoding, errors, newline):
            # The real one says what is wrong, with arguments that open nothing.
            return open_file(os.devnull, mode, buffering, encoding, errors, newline)
        binary = "b" in mode
        if not binary:
            encoding = io.text_encoding(encoding, 2)
        raw = self._raw(file, "".join(letter for letter in mode if letter not in "bt"), closefd, opener)
        opened: Opened = raw.dpor_opened
        opened.busy = True
        result: Any = raw
        try:
            line_buffering = (buffering == 1 and not binary) or (buffering < 0 and raw.isatty())
            if buffering in (-1, 1):
                buffering = max(getattr(raw, "_blksize", 0), io.DEFAULT_BUFFER_SIZE)
            if buffering == 0:
                if not binary:
                    raise ValueError("can't have unbuffered text I/O")
                return self._noted(raw)
            opened.buffer = min(buffering, _SMALLEST_BUFFER)
            if "+" in mode:
                result = _BufferedRandom(raw, buffering)
            elif raw.writable():
                result = _BufferedWriter(raw, buffering)
            else:
                result = _BufferedReader(raw, buffering)
            result.dpor_opened = opened
            if not binary:
                if line_buffering:
                    opened.buffer = 0
                result = _text(opened, result, encoding, errors, newline, line_buffering)
                result.mode = mode
                opened.decodes = result.readable()
            return self._noted(result)
        except BaseException:
            _abandon(result)
            self._descriptors.give_up_lock(self._descriptors.closed(opened.number))
            raise
        finally:
            opened.busy = False

    def _noted(self, stream: Any) -> Any:
        self._open.append(weakref.ref(stream))
        if len(self._open) % 64 == 0:
            self._open[:] = [reference for reference in self._open if reference() is not None]
        return stream

    def _raw(self, file: Any, mode: str, closefd: bool, opener: Any) -> Any:
        files, descriptors = self._files, self._descriptors
        if isinstance(file, int):
            return self._on_descriptor(RawFile(file, mode, closefd), file)
        flags = _flags(mode)
        if opener is not None:
            # It opens what it wants, by os.open or the like.
            descriptor = opener(file, flags)
            if not isinstance(descriptor, int):
                raise TypeError("expected integer from opener")
            if descriptor < 0:
                raise ValueError(f"opener returned {descriptor}")
            if not descriptors.is_open(descriptor):
                files.world.refuse("opens a file by a way that is not known")
            raw = self._on_descriptor(RawFile(descriptor, mode, closefd), descriptor)
            raw.name = file
            return raw
        if not closefd:
            raise ValueError("Cannot use closefd=False with file name")
        name = files.world.next_name("open file")
        try:
            place, target = files.opened(label("open", file, mode), file, flags, name)
            raw = RawFile(place, mode)
        except OSError as error:
            if error.filename is not None:
                error.filename = os.fspath(file)
            raise
        raw.name = file
        number = raw.fileno()
        opened = descriptors.open_file(number, name, target.path, flags, not files.overlay.owns(place))
        raw.dpor_opened = Opened(descriptors, opened, number)
        return raw

    def _on_descriptor(self, raw: Any, number: int) -> Any:
        opened = self._files.descriptors.get(number)
        if opened is not None:
            raw.dpor_opened = Opened(self._descriptors, opened, number)
        return raw


def _text(
    opened: Opened, buffered: Any, encoding: str | None, errors: str | None, newline: str | None, lines: bool
) -> Any:
    text = _TextFile(buffered, encoding, errors, newline, lines)
    text.dpor_opened = opened
    return text


def _is_usual(mode: Any, buffering: Any, encoding: Any, errors: Any, newline: Any) -> bool:
    if not isinstance(mode, str) or not isinstance(buffering, int):
        return False
    letters = set(mode)
    if letters - set("axrwb+t") or len(mode) > len(letters) or len(letters & set("axrw")) != 1:
        return False
    binary = "b" in letters
    if binary and ("t" in letters or encoding is not None or errors is not None or newline is not None):
        return False
    return not (binary and buffering == 1) and not (not binary and buffering == 0)


def _flags(mode: str) -> int:
    letters = set(mode) - {"b", "t"}
    flags = os.O_RDWR if "+" in letters else os.O_RDONLY if "r" in letters else os.O_WRONLY
    if "w" in letters:
        flags |= os.O_CREAT | os.O_TRUNC
    elif "x" in letters:
        flags |= os.O_CREAT | os.O_EXCL
    elif "a" in letters:
        flags |= os.O_CREAT | os.O_APPEND
    return flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _abandon(stream: Any) -> None:
    """Close a stream whatever it thinks of that."""
    opened: Opened = stream.dpor_opened
    opened.busy = True
    with contextlib.suppress(OSError, ValueError):
        stream.close()
