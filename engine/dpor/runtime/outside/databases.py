"""sqlite3 inside a model: each method of a connection or cursor is one operation on the whole database.

It is more than one where `executemany` takes rows of a generator: one before each row. What else the database calls in
Python runs in the middle of an operation, which is an assumption if other threads run.

A connection that finds the database locked by another one would wait: that is refused, unless it was told not to wait.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator
from types import MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

from dpor.results import AssumptionKind
from dpor.runtime import current
from dpor.runtime.outside.filesystem import FileSystem, label
from dpor.runtime.outside.visible_attributes import Access, attribute_methods
from dpor.runtime.outside.world import Footprint
from dpor.runtime.patchset import PatchSet
from dpor.runtime.thread_functions import running_ident

# Any thread may call these, whoever made the connection.
_OF_ALL_THREADS = frozenset({"__enter__", "interrupt"})
# Methods that do nothing but give the cursor itself, or make one.
_QUIET = frozenset({"__init__", "__iter__", "__new__"})
# What these attributes give never changes.
_LASTING = frozenset({"connection"})
# To set these may end the transaction.
_COMMITTING = frozenset({"autocommit", "isolation_level"})
_IN_C = (MethodDescriptorType, WrapperDescriptorType)
_BESIDE = ("-journal", "-wal", "-shm")
_LOCKED = (5, 6)
# What these are given is called while the database carries out a statement.
_GIVEN_CALLBACKS = frozenset(
    {
        "create_aggregate",
        "create_collation",
        "create_function",
        "create_window_function",
        "set_authorizer",
        "set_progress_handler",
        "set_trace_callback",
    }
)
_FACTORIES = ("row_factory", "text_factory")
_PLAIN = (int, str, bytes, float, type(None), bool)
# The objects of these modules are adapted by code that changes nothing and reads nothing that changes.
_ADAPTED = ("datetime", "decimal")


class _Database:
    """What a connection and its cursors share: the names of the database and of the connection, and who made it."""

    __slots__ = ("busy", "calls_back", "connection", "content", "files", "same_thread", "thread", "waits")

    def __init__(self, files: FileSystem, content: str, same_thread: bool, waits: bool) -> None:
        self.files = files
        self.content = content
        self.connection = files.world.next_name("connection")
        files.number_order.moved()
        self.same_thread = same_thread
        self.waits = waits
        self.thread = running_ident()
        self.busy = False
        # Whether the database was given functions, which it calls.
        self.calls_back = False


def _rows(database: _Database, steps: Iterator[Any], perform: Callable[[], None]) -> Iterator[Any]:
    """The rows that `executemany` is given; between two of them other threads may use the database."""
    while True:
        database.busy = False
        try:
            row = next(steps)
        except StopIteration:
            return
        finally:
            perform()
            database.busy = True
        yield row


def _calls_back(database: _Database, owner: Any, args: tuple[Any, ...]) -> bool:
    """Whether an operation runs code in Python on the way."""
    if database.calls_back:
        return True
    factories = (getattr(owner, name, None) for name in _FACTORIES)
    if any(factory is not None and not isinstance(factory, type) for factory in factories):
        return True
    return not all(_is_plain(given) for given in args)


def _is_plain(given: object) -> bool:
    """Whether the database takes an argument without running code in Python that could see what others change."""
    kind = type(given)
    if kind in (tuple, list, dict):
        items: Any = given
        return all(map(_is_plain, items.values() if kind is dict else items))
    return kind in _PLAIN or kind.__module__ in _ADAPTED or isinstance(given, type)


def _method(module: Any, base: type, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    cursors = module.Cursor

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        database: _Database | None = getattr(self, "dpor_database", None)
        if database is None or database.busy or current.active_host() is None:
            return real(self, *args, **kwargs)
        here = running_ident()
        if database.same_thread and here != database.thread and name not in _OF_ALL_THREADS:
            raise module.ProgrammingError(
                "SQLite objects created in a thread can only be used in that same thread. The object was created in "
                f"thread id {database.thread} and this is thread id {here}."
            )
        world = database.files.world
        if name == "blobopen":
            world.refuse("opens a part of a database as a file (sqlite3)")
        # A copy goes to the database of another connection.
        given = (getattr(arg, "dpor_database", None) for arg in (*args, *kwargs.values()))
        used = [database, *(other for other in given if isinstance(other, _Database))]
        footprint = Footprint((), tuple(name for each in used for name in (each.content, each.connection)))

        def perform() -> None:
            world.perform(f"{base.__name__}.{name}()", lambda: footprint)

        perform()
        if name == "executemany" and args and type(args[-1]) not in (list, tuple):
            args = (*args[:-1], _rows(database, iter(args[-1]), perform))
        elif name in _GIVEN_CALLBACKS:
            database.calls_back = True
        elif not world.mode.host.is_alone() and _calls_back(database, self, args):
            world.mode.host.assume(AssumptionKind.UNSEEN_CODE.value, "sqlite3")
        for each in used:
            each.busy = True
        try:
            found = real(self, *args, **kwargs)
        except module.OperationalError as error:
            if database.waits and getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOCKED:
                world.refuse("waits for a database that another connection has locked (sqlite3)")
            raise
        finally:
            for each in used:
                each.busy = False
        if isinstance(found, cursors):
            found.dpor_database = database
        return found

    method.__name__ = name
    method.__doc__ = real.__doc__
    return method


def _access_attribute(self: Any, name: str, kind: Access) -> None:
    database: _Database | None = getattr(self, "dpor_database", None)
    if database is None or database.busy or name in _LASTING or current.active_host() is None:
        return
    if kind is Access.UNSEEN:
        database.files.world.refuse(
            f"uses or replaces {name} of a connection or cursor (sqlite3), which nobody sees"
        )
    if kind is Access.LOAD:
        footprint = Footprint((database.connection,))
    elif name in _COMMITTING:
        footprint = Footprint((), (database.content, database.connection))
    else:
        footprint = Footprint((), (database.connection,))
    database.files.world.perform(f"{name} of a connection or cursor (sqlite3)", lambda: footprint)


def _class(module: Any, base: type) -> Any:
    """A class of connections or cursors whose methods in C, all of them, and attributes are visible operations."""
    body: dict[str, Any] = attribute_methods(base, _access_attribute)
    for name in dir(base):
        holder = next(owner for owner in (*base.__mro__, type(base)) if name in vars(owner))
        if holder is not object and name not in _QUIET and isinstance(vars(holder)[name], _IN_C):
            body[name] = _method(module, base, name, getattr(base, name))
    # A connection is closed where the last reference to it ends, which the kernel must not put off.
    body["__dpor_untracked__"] = True
    body["__module__"] = base.__module__
    body["__doc__"] = base.__doc__
    return type(base.__name__, (base,), body)


class Databases:
    """The stand-ins for sqlite3.connect and the classes of connections and cursors."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._open: list[weakref.ref[Any]] = []

    def reset(self) -> None:
        """Close the connections that the last execution has left open."""
        while self._open:
            connection = self._open.pop()()
            if connection is not None:
                connection.dpor_database.busy = True
                connection.close()

    def patch(self, patches: PatchSet, module: ModuleType) -> None:
        """Put the replacement in place, once sqlite3 has been imported."""
        sqlite: Any = module
        real, plain = sqlite.connect, sqlite.Connection
        cursor = _cursor_class(sqlite)
        visible = _connection_class(sqlite, plain, cursor)
        # Those of classes that were made before this one.
        classes: dict[type, Any] = {plain: visible}

        def connect(
            database: Any,
            timeout: float = 5.0,
            detect_types: int = 0,
            isolation_level: str | None = "",
            check_same_thread: bool = True,
            factory: type | None = None,
            cached_statements: int = 128,
            uri: bool = False,
            **more: Any,
        ) -> Any:
            base = plain if factory is None else factory
            options: dict[str, Any] = {
                "detect_types": detect_types,
                "isolation_level": isolation_level,
                "cached_statements": cached_statements,
                **more,
            }
            if not self._files.world.controls():
                return real(
                    database,
                    timeout=timeout,
                    check_same_thread=check_same_thread,
                    factory=base,
                    uri=uri,
                    **options,
                )
            if issubclass(base, visible):
                classes[base] = base
            elif base not in classes:
                classes[base] = _connection_class(sqlite, base, cursor)
            place, content = self._place(sqlite, database, uri)
            # Its cache of statements is its own, though it is made by functools.
            mode = self._files.world.mode
            with contextlib.ExitStack() as unseen:
                if classes[base] is visible:
                    unseen.enter_context(mode.suspended())
                    unseen.enter_context(mode.asleep())
                connection = real(place, timeout=0, check_same_thread=False, factory=classes[base], **options)
            connection.dpor_database = _Database(self._files, content, check_same_thread, timeout > 0)
            self._open.append(weakref.ref(connection))
            return connection

        for owner in (module, vars(module).get("dbapi2")):
            if isinstance(owner, ModuleType):
                for name, value in (("connect", connect), ("Connection", visible), ("Cursor", cursor)):
                    patches.replace(owner, name, value)

    def _place(self, sqlite: Any, database: Any, uri: bool) -> tuple[str, str]:
        files = self._files
        text = os.fsdecode(database)
        if uri and text.startswith("file:"):
            files.world.refuse("opens a database by a URI (sqlite3)")
        if text in ("", ":memory:"):
            return text, files.world.next_name("database")
        function, name = label("sqlite3.connect", text), files.world.next_name("database")
        try:
            place, target = files.opened(function, text, os.O_RDWR | os.O_CREAT, name)
        except OSError:
            raise sqlite.OperationalError("unable to open database file") from None
        for suffix in _BESIDE:
            if files.overlay.exists(target.path + suffix):
                files.overlay.changed(target.path + suffix)
        return place, files.content(target.path)


def _cursor_class(sqlite: Any) -> Any:
    made = _class(sqlite, sqlite.Cursor)
    real = sqlite.Cursor.__init__

    def make(self: Any, connection: Any) -> None:
        real(self, connection)
        database = getattr(connection, "dpor_database", None)
        if database is not None:
            self.dpor_database = database

    made.__init__ = make
    return made


def _connection_class(sqlite: Any, base: type, cursor: Any) -> Any:
    made = _class(sqlite, base)
    plain, visible = sqlite.Connection.cursor, made.cursor

    def make_cursor(self: Any, factory: Any = None) -> Any:
        if isinstance(factory, type) and not issubclass(factory, cursor):
            factory = _class(sqlite, factory)
        return visible(self, cursor if factory is None else factory)

    def with_cursor(name: str) -> Callable[..., Any]:
        def execute(self: Any, *args: Any) -> Any:
            # As the connection does, which makes a cursor of its own kind: a part of the same operation.
            return getattr(plain(self, cursor), name)(*args)

        execute.__doc__ = getattr(base, name).__doc__
        return _method(sqlite, base, name, execute)

    def end(self: Any) -> None:
        # What was not committed is taken back now, and the database is free for others.
        try:
            if self.total_changes >= 0:
                self.rollback()
        except sqlite.Error:
            return

    made.cursor = make_cursor
    for name in ("execute", "executemany", "executescript"):
        setattr(made, name, with_cursor(name))
    made.__del__ = end
    return made
