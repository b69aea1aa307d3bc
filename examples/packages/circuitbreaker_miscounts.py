"""circuitbreaker: two calls fail at the same time and the breaker counts one.

A circuit breaker opens after a number of failures and then spares the failing service. This one counts with
`self._failure_count += 1` and no lock, so failures of threads that run at the same time can be lost, and
the circuit stays closed for longer than it should. Users ask about it:
https://github.com/fabfuel/circuitbreaker/issues/61.

The fix is a subclass that counts under a lock. The protected call itself runs outside it, so calls stay
concurrent.
"""

import contextlib
import threading

import circuitbreaker

import dpor


class LockedCircuitBreaker(circuitbreaker.CircuitBreaker):
    """Counts failures and successes under a lock."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._lock = threading.Lock()

    def __exit__(self, exc_type, exc_value, traceback):
        with self._lock:
            return super().__exit__(exc_type, exc_value, traceback)


def unreachable():
    raise ConnectionError("the service is down")


def call(breaker):
    with contextlib.suppress(ConnectionError):
        breaker.call(unreachable)


def fail_in_threads(breaker_type, threads):
    breaker = breaker_type(failure_threshold=threads, expected_exception=ConnectionError)
    for _ in range(threads):
        dpor.spawn(call, breaker)
    dpor.join_all()
    assert breaker.opened, "the circuit is still closed"


@dpor.model(expect="violated", instrument=("circuitbreaker",))
def failures_lost(threads: int = 2):
    """As many failures as the threshold, and the circuit stays closed."""
    fail_in_threads(circuitbreaker.CircuitBreaker, threads)


@dpor.model(expect="verified", instrument=("circuitbreaker",))
def failures_counted(threads: int = 2):
    """The same with the subclass."""
    fail_in_threads(LockedCircuitBreaker, threads)
