from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dpor.instrument.hooks import Hook, hook_entries

sys.path.insert(0, str(Path(__file__).parent))

UNSET = object()

_BY_NUMBER = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
_OPERATORS = (
    (operator.add, operator.iadd),
    (operator.sub, operator.isub),
    (operator.mul, operator.imul),
    (operator.matmul, operator.imatmul),
    (operator.mod, operator.imod),
    (operator.and_, operator.iand),
    (operator.or_, operator.ior),
    (operator.xor, operator.ixor),
    (operator.truediv, operator.itruediv),
    (operator.floordiv, operator.ifloordiv),
    (operator.pow, operator.ipow),
    (operator.lshift, operator.ilshift),
    (operator.rshift, operator.irshift),
)


class Cell:
    def __init__(self, name: str, value: object = UNSET) -> None:
        self.name = name
        self.value = value


class TransparentHooks:
    """Hooks with exactly the plain semantics, and a log of what was called where; they know what has been entered."""

    def __init__(self) -> None:
        self.log: list[tuple[str, tuple[object, ...], str]] = []
        self.keep_log = False
        self.entered: dict[int, dict[str, Any]] = {}

    def entries(self) -> dict[str, object]:
        names = [hook.value for hook in Hook]
        found = {name: self._logged(name) if self.keep_log else getattr(self, name) for name in names}
        return hook_entries(found, self.is_instrumented)

    def enter_namespace(self, namespace: dict[str, Any], first_party: bool, /) -> None:
        self.entered[id(namespace)] = namespace

    def leave_namespace(self, namespace: dict[str, Any], /) -> None:
        self.entered.pop(id(namespace), None)

    def is_instrumented(self, namespace: dict[str, Any]) -> bool:
        return id(namespace) in self.entered or Hook.OBSERVE.identifier in namespace

    def _logged(self, name: str) -> Callable[..., Any]:
        method = getattr(self, name)

        def call(*arguments: object) -> object:
            frame = sys._getframe(1)
            positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
            self.log.append((name, arguments, _spell(positions)))
            return method(*arguments)

        return call

    def load_attribute(self, obj: Any, name: str) -> Any:
        return getattr(obj, name)

    def store_attribute(self, value: Any, obj: Any, name: str) -> None:
        setattr(obj, name, value)

    def delete_attribute(self, obj: Any, name: str) -> None:
        delattr(obj, name)

    def raised(self, exception: Any) -> Any:
        return exception

    def reraised(self) -> None:
        return None

    def chained(self, exception: Any, cause: Any) -> Any:
        made = exception() if isinstance(exception, type) else exception
        made.__cause__ = cause() if isinstance(cause, type) else cause
        return made

    def load_item(self, obj: Any, key: Any) -> Any:
        return obj[key]

    def store_item(self, value: Any, obj: Any, key: Any) -> None:
        obj[key] = value

    def delete_item(self, obj: Any, key: Any) -> None:
        del obj[key]

    def load_global(self, name: str) -> Any:
        namespace = _namespace_of_caller()
        if name in namespace:
            return namespace[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(f"name {name!r} is not defined")

    def store_global(self, value: Any, name: str) -> None:
        _namespace_of_caller()[name] = value

    def delete_global(self, name: str) -> None:
        namespace = _namespace_of_caller()
        if name not in namespace:
            raise NameError(f"name {name!r} is not defined")
        del namespace[name]

    def new_cell(self, name: str, value: object = UNSET) -> Cell:
        return Cell(name, value)

    def load_cell(self, cell: Cell, free: bool = False) -> Any:
        assert type(cell) is Cell
        if cell.value is UNSET:
            if free:
                raise NameError(f"cannot access free variable {cell.name!r}")
            raise UnboundLocalError(f"cannot access local variable {cell.name!r}")
        return cell.value

    def store_cell(self, value: Any, cell: Cell) -> None:
        assert type(cell) is Cell
        cell.value = value

    def delete_cell(self, cell: Cell, free: bool = False) -> None:
        self.load_cell(cell, free)
        cell.value = UNSET

    def method(self, obj: Any, name: str) -> Any:
        return getattr(obj, name)

    def method_of_statement(self, obj: Any, name: str) -> Callable[..., Any]:
        return self.method(obj, name)

    def callee(self, function: Any) -> Any:
        assert type(function) is not Cell
        return function

    def truth(self, obj: Any) -> bool:
        return bool(obj)

    def iterate(self, obj: Any) -> Iterator[Any]:
        return iter(obj)

    def contains(self, item: Any, container: Any) -> bool:
        return item in container

    def drawn(self, number: Any) -> Any:
        return number

    def hashed(self, key: Any) -> Any:
        return key

    def compare(self, number: int, left: Any, right: Any) -> Any:
        return _BY_NUMBER[number](left, right)

    def operate(self, number: int, left: Any, right: Any) -> Any:
        return _OPERATORS[number][0](left, right)

    def inplace(self, number: int, target: Any, operand: Any) -> Any:
        return _OPERATORS[number][1](target, operand)

    def format(self, value: Any, conversion: int, specification: str) -> str:
        converted = {-1: lambda: value, ord("s"): lambda: str(value), ord("r"): lambda: repr(value)}
        return format(converted.get(conversion, lambda: ascii(value))(), specification)

    def identical(self, left: Any, right: Any) -> Any:
        return right

    def number(self, obj: Any) -> Any:
        return obj

    def matched(self, obj: Any, names: Sequence[str]) -> list[Any]:
        return [getattr(obj, name) for name in names]

    def unpacked(self, obj: Any, names: int | None) -> Any:
        assert type(obj) is not Cell
        return obj

    def observe(self, obj: Any) -> Any:
        assert type(obj) is not Cell
        return obj

    def defined(self, function: Any) -> Any:
        assert type(function) is not Cell
        return function

    def metaclass(self, given: Any) -> Any:
        assert type(given) is not Cell
        return given

    def merged(self, obj: Any) -> Any:
        assert type(obj) is not Cell
        return obj

    def created(self, obj: Any) -> Any:
        assert type(obj) is not Cell
        return obj

    def returned(self, value: Any) -> None:
        assert type(value) is not Cell

    def awaited(self, value: Any) -> Any:
        return value

    def yields(self, value: Any) -> Any:
        return value

    def ending(self, iterable: Any) -> Any:
        return iter(iterable)

    def enter_loop(self) -> int:
        return 1

    def at_loop_head(self, token: int) -> bool:
        assert token == 1
        return True

    def enter_suspended_loop(self) -> int:
        return 2

    def at_suspended_loop_head(self, token: int) -> bool:
        assert token == 2
        return True


def _namespace_of_caller() -> dict[str, Any]:
    frame = sys._getframe(1)
    while frame.f_globals is globals():
        assert frame.f_back is not None
        frame = frame.f_back
    return frame.f_globals


def _spell(positions: tuple[int | None, int | None, int | None, int | None]) -> str:
    line, end_line, column, end_column = positions
    return f"{line}:{column}-{end_line}:{end_column}"


@pytest.fixture
def hooks() -> TransparentHooks:
    return TransparentHooks()


@pytest.fixture
def logging_hooks() -> TransparentHooks:
    hooks = TransparentHooks()
    hooks.keep_log = True
    return hooks
