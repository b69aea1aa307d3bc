"""`dpor.Atomic`: one shared value with atomic operations, in a model and outside of one."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

from dpor.orders import LOAD_ORDERS, STORE_ORDERS, check_order
from dpor.runtime import current

T = TypeVar("T")


class Atomic(Generic[T]):
    """A shared value with C11's atomic operations.

    Every operation takes `order`, one of C11's memory orders by name; under sequential consistency they change
    nothing. `value` loads and stores with "seq_cst". Inside a check `dpor.Atomic(...)` makes the kernel's own kind.
    """

    def __new__(cls, initial: T) -> Any:
        """The kernel's kind of atomic while a check is going on, this class's elsewhere."""
        if cls is Atomic and current.current_host() is not None:
            from dpor import _kernel

            return _kernel.Atomic(initial)
        return super().__new__(cls)

    def __init__(self, initial: T) -> None:
        self._value = initial
        self._lock = threading.Lock()

    def load(self, order: str = "seq_cst") -> T:
        """The value."""
        check_order(order, LOAD_ORDERS)
        with self._lock:
            return self._value

    def store(self, value: T, order: str = "seq_cst") -> None:
        """Set the value."""
        check_order(order, STORE_ORDERS)
        with self._lock:
            self._value = value

    @property
    def value(self) -> T:
        """The value, loaded and stored with order "seq_cst"."""
        return self.load()

    @value.setter
    def value(self, value: T) -> None:
        self.store(value)

    def exchange(self, value: T, order: str = "seq_cst") -> T:
        """Set the value and return the one before."""
        check_order(order)
        with self._lock:
            before, self._value = self._value, value
            return before

    def compare_exchange(self, expected: T, desired: T, order: str = "seq_cst") -> bool:
        """Set the value to `desired` if it equals `expected`; returns whether it did."""
        check_order(order)
        with self._lock:
            if self._value is not expected and self._value != expected:
                return False
            self._value = desired
            return True

    def fetch_add(self, amount: Any, order: str = "seq_cst") -> T:
        """Add to the value and return the one before."""
        check_order(order)
        with self._lock:
            before: Any = self._value
            self._value = before + amount
            return before

    def fetch_sub(self, amount: Any, order: str = "seq_cst") -> T:
        """Subtract from the value and return the one before."""
        check_order(order)
        with self._lock:
            before: Any = self._value
            self._value = before - amount
            return before

    def fetch_or(self, bits: Any, order: str = "seq_cst") -> T:
        """Set bits of the value and return the one before."""
        check_order(order)
        with self._lock:
            before: Any = self._value
            self._value = before | bits
            return before

    def fetch_and(self, bits: Any, order: str = "seq_cst") -> T:
        """Keep only these bits of the value and return the one before."""
        check_order(order)
        with self._lock:
            before: Any = self._value
            self._value = before & bits
            return before

    def __repr__(self) -> str:
        return f"Atomic({self._value!r})"
