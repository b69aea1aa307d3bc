"""Instruments modules of the standard library where they are, for the time of a check.

A second copy of such a module would be another module: its classes would not be those that everybody else knows. So the
functions stay the objects that they are and are given instrumented code, when code of a model is about to need them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from dpor.asleep import Asleep
from dpor.instrument.first_party import OWN_MODULES, RUN_ON
from dpor.instrument.hooks import Hook, put_hooks
from dpor.instrument.library_code import LibraryCode, Treatment, library_code
from dpor.instrument.library_state import LibraryState
from dpor.instrument.standard_library import (
    described_modules,
    incurious,
    left_modules,
    reading_at_once,
    shallow,
    standard_modules,
    unchanging,
)
from dpor.instrument.transformer import RUNNERS, compile_instrumented, future_features
from dpor.reading import read_file
from dpor.results import AssumptionKind

if TYPE_CHECKING:
    from dpor._kernel import Host

_CELLS = frozenset({Hook.LOAD_CELL.identifier, Hook.STORE_CELL.identifier, Hook.DELETE_CELL.identifier})
_Key = tuple[str, int]
_Table = dict[_Key, CodeType | None]
# How the namespace is called in which collections makes the constructor of a class, which calls that of tuple.
_NAMED_TUPLE = "namedtuple_"


class Library:
    """The standard library's modules that a check has had to instrument.

    `host` asks for them once installed. `stand_ins` maps the types of real locks and of thread-local data to what makes
    a controlled one. `named` are modules that a model wants to be looked into, which are not left as they are. `code`
    keeps what was compiled.
    """

    def __init__(
        self,
        host: Host,
        stand_ins: Mapping[type, Callable[[Any], object]],
        named: Iterable[str] = (),
        code: LibraryCode | None = None,
    ) -> None:
        self._host = host
        self._left = left_modules(named)
        self._code = code or library_code()
        self._tables: dict[int, _Table] = {}
        self._swapped: list[tuple[FunctionType, CodeType]] = []
        self._namespaces: list[dict[str, Any]] = []
        # Modules that an execution has imported anew, until the next one begins.
        self._copies: list[dict[str, Any]] = []
        self._sources: set[Path] = set()
        self._generated: dict[tuple[str, str], CodeType] = {}
        # Equal code is the same code: each execution may compile it again.
        self._unseen_code: dict[CodeType, CodeType] = {}
        self._state = LibraryState(host, stand_ins)
        # By the names of modules.
        self._rebound: dict[str, frozenset[str]] = {}
        self._sees_operands = False

    def install(self) -> None:
        """Have the host ask for what it needs."""
        put_hooks({RUNNERS["exec"]: self._exec, RUNNERS["eval"]: self._eval})
        self._host.use_library(standard_modules(), sorted(RUN_ON), self.include)
        self._host.leave_modules(
            self._left, described_modules(), unchanging(), incurious(), shallow(), reading_at_once()
        )

    def uninstall(self) -> None:
        """Give every function its own code back."""
        put_hooks({RUNNERS["exec"]: exec, RUNNERS["eval"]: eval})
        while self._swapped:
            function, code = self._swapped.pop()
            function.__code__ = code
        while self._namespaces:
            namespace = self._namespaces.pop()
            self._host.leave_namespace(namespace)
        self._state.restore()
        self._tables.clear()
        self._sources.clear()
        self._copies.clear()

    def begin(self) -> None:
        """Start an execution, in its main thread."""
        while self._copies:
            copy = self._copies.pop()
            self._tables.pop(id(copy), None)
            self._namespaces = [one for one in self._namespaces if one is not copy]
            self._host.leave_namespace(copy)
        self._state.begin()

    def imported(self, module: ModuleType) -> None:
        """Instrument a module that is imported, if one from the same file has been: a program that imports it anew has
        two of it, and a model that does so in each execution another one each time.
        """
        namespace = module.__dict__
        if id(namespace) in self._tables or _source_of(namespace) not in self._sources:
            return
        if self._host.active:
            self._copies.append(namespace)
        with Asleep(self._host):
            self._include(namespace)

    def include(self, wanted: list[FunctionType | type | ModuleType]) -> None:
        """Instrument modules, and those that have defined some functions and classes."""
        with Asleep(self._host):
            self._include_all(wanted)

    def _include_all(self, wanted: list[FunctionType | type | ModuleType]) -> None:
        for one in wanted:
            if isinstance(one, ModuleType):
                self._include(one.__dict__)
                continue
            if isinstance(one, type):
                # It can be made of others of its module, and have no function of its own.
                module = sys.modules.get(one.__module__)
                if isinstance(module, ModuleType):
                    self._include(module.__dict__)
                # A stand-in can have its place in the module.
                for function in _functions_in(list(vars(one).values()), None):
                    table = self._include(function.__globals__)
                    if not _is_from(table, function):
                        self._swap(function, table)
                continue
            table = self._include(one.__globals__)
            if not _is_from(table, one) and not self._swap(one, table):
                self._host.tell_foreign(one.__code__)

    def rebind(self, module: str, variables: frozenset[str]) -> None:
        """Take variables of an instrumented module for rebound from outside."""
        self._rebound[module] = variables
        for namespace in list(self._namespaces):
            if namespace["__name__"] == module:
                self._include_anew(namespace)

    def see_operands(self) -> None:
        """Have the code tell of operators with a literal operand, too, from now on."""
        self._sees_operands = True
        for namespace in list(self._namespaces):
            self._include_anew(namespace)

    def _include_anew(self, namespace: dict[str, Any]) -> None:
        del self._tables[id(namespace)]
        self._include(namespace)

    def _include(self, namespace: dict[str, Any]) -> _Table:
        known = self._tables.get(id(namespace))
        if known is not None:
            return known
        table: _Table = {}
        self._tables[id(namespace)] = table
        source = _source_of(namespace)
        name = namespace.get("__name__")
        # Stand-ins are the checker's own code, in classes of the library.
        if source is None or name is None or str(name).partition(".")[0] in OWN_MODULES:
            return table
        functions = list(_functions_in(list(namespace.values()), namespace))
        filename = functions[0].__code__.co_filename if functions else str(source)
        rebound = self._rebound.get(str(name))
        try:
            code = (
                compile_instrumented(
                    read_file(source), filename, rebound, sees_operands=self._sees_operands, of_library=True
                )
                if rebound
                else self._code.compile(source, filename, self._treatment())
            )
        except (OSError, SyntaxError, ValueError):
            return table
        self._host.tell_instrumented(code)
        for nested in _nested(code):
            key = (nested.co_qualname, nested.co_firstlineno)
            table[key] = None if key in table else nested
        self._sources.add(source)
        self._enter(namespace)
        copied = any(copy is namespace for copy in self._copies)
        for function in functions:
            self._swap(function, table, lasts=not copied)
        if copied:
            self._state.take_over(namespace)
        else:
            self._state.keep(namespace)
        return table

    def _treatment(self) -> Treatment:
        return Treatment.WITH_OPERANDS if self._sees_operands else Treatment.INSTRUMENTED

    def _enter(self, namespace: dict[str, Any]) -> None:
        self._host.enter_namespace(namespace, False)
        if not any(known is namespace for known in self._namespaces):
            self._namespaces.append(namespace)

    def _swap(self, function: FunctionType, table: _Table, lasts: bool = True) -> bool:
        old = function.__code__
        new = table.get((old.co_qualname, old.co_firstlineno))
        if new is old:
            return True
        if new is None or new.co_freevars != old.co_freevars:
            return False
        # The variables of a closure that exists are no cells of the host.
        if old.co_freevars and any(not _CELLS.isdisjoint(code.co_names) for code in _nested(new)):
            return False
        function.__code__ = new
        if lasts:
            self._swapped.append((function, old))
        return True

    # What modules generate

    def _exec(
        self, source: Any, namespace: dict[str, Any] | None = None, variables: Any = None, /, **more: Any
    ) -> None:
        """What `exec` is in an instrumented module: what it makes for such a module is instrumented, too."""
        flags = future_features(sys._getframe(1).f_code)  # pyright: ignore[reportPrivateUsage]
        namespace, variables = _scopes(namespace, variables)
        exec(self._compiled(source, "exec", namespace, flags), namespace, variables, **more)

    def _eval(self, source: Any, namespace: dict[str, Any] | None = None, variables: Any = None, /) -> Any:
        """What `eval` is in an instrumented module."""
        flags = future_features(sys._getframe(1).f_code)  # pyright: ignore[reportPrivateUsage]
        namespace, variables = _scopes(namespace, variables)
        return eval(self._compiled(source, "eval", namespace, flags), namespace, variables)

    def _compiled(self, source: Any, mode: str, namespace: dict[str, Any], flags: int) -> CodeType:
        if isinstance(source, CodeType):
            return self._unseen(source)
        text = str(source)
        instrumented = mode == "exec" and self._host.is_instrumented(namespace)
        key = (f"{mode} {instrumented} {flags} {self._sees_operands}", text)
        code = self._generated.get(key)
        if code is None:
            with Asleep(self._host):
                code = (
                    compile_instrumented(
                        text, "<string>", sees_operands=self._sees_operands, of_library=True, flags=flags
                    )
                    if instrumented
                    else compile(text, "<string>", mode, flags, dont_inherit=True)
                )
            self._generated[key] = code
        if instrumented:
            self._host.tell_instrumented(code)
        elif str(namespace.get("__name__")).startswith(_NAMED_TUPLE):
            self._host.trust_code(code)
        else:
            return self._unseen(code)
        return code

    def _unseen(self, code: CodeType) -> CodeType:
        """Code that is about to run and is not instrumented: what it does is not seen."""
        self._host.assume(AssumptionKind.UNSEEN_CODE.value, code.co_filename)
        known = self._unseen_code.setdefault(code, code)
        if known is code:
            self._host.tell_foreign(code)
        return known


def _is_from(table: _Table, function: FunctionType) -> bool:
    """Whether a function has instrumented code. Code without operations is equal to what it was made from."""
    return any(code is function.__code__ for code in table.values())


def _scopes(namespace: dict[str, Any] | None, variables: Any) -> tuple[dict[str, Any], Any]:
    if namespace is None:
        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        return frame.f_globals, frame.f_locals
    return namespace, namespace if variables is None else variables


def _source_of(namespace: Mapping[str, Any]) -> Path | None:
    file: object = namespace.get("__file__")
    path = Path(file) if isinstance(file, str) else None
    return path if path is not None and path.suffix == ".py" and path.is_file() else None


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _functions_in(values: list[Any], namespace: dict[str, Any] | None) -> Iterator[FunctionType]:
    """The functions among `values` and in them that have this namespace, or any."""
    seen: set[int] = set()
    while values:
        value = values.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            if namespace is None or value.__globals__ is namespace:
                yield value
                values += (cell.cell_contents for cell in value.__closure__ or () if _is_set(cell))
            values.append(value.__dict__.get("__wrapped__"))
        elif isinstance(value, type):
            if namespace is not None and value.__module__ == namespace.get("__name__"):
                values += vars(value).values()
        elif isinstance(value, staticmethod | classmethod):
            values.append(cast(Any, value).__func__)
        elif isinstance(value, property):
            values += (value.fget, value.fset, value.fdel)
        elif type(value) is dict:
            items = cast("dict[Any, Any]", value).values()
            values += (item for item in items if isinstance(item, FunctionType))
        elif type(value).__module__ == "functools":
            values += (getattr(value, name, None) for name in ("func", "__wrapped__"))


def _is_set(cell: CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, FunctionType | type)
    except ValueError:
        return False
