"""What a model calls, beside the standard library: threads, values, assumptions, waiting.

Inside a check every function is an operation of the explorer; anywhere else it does the obvious thing with real
threads, so that a model stays an ordinary function.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Sequence

from dpor.orders import check_order
from dpor.runtime import current

TYPE_CHECKING = False  # not from typing: importing it would be most of the time that `import dpor` takes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import ParamSpec, TypeVar

    from dpor.results import ReplayResult

    Parameters = ParamSpec("Parameters")
    Value = TypeVar("Value")

_FIRST_PAUSE = 0.00005
_LONGEST_PAUSE = 0.01


class AssumptionFailed(SystemExit):
    """What `assume(False)` raises outside of a check: ends the thread, and nobody reports it."""


class _Spawned(threading.local):
    """The real threads that a real thread has spawned and not joined yet."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []


_spawned = _Spawned()


def spawn(
    function: Callable[Parameters, object], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> threading.Thread:
    """Start a thread that calls `function` with these arguments, and return it."""
    host = current.active_host()
    if host is None:
        thread = threading.Thread(target=_unless_assumption_fails(function), args=args, kwargs=kwargs)
        thread.start()
        _spawned.threads.append(thread)
        return thread
    return host.current_thread().dpor_spawn(host, function, args, kwargs)


def _unless_assumption_fails(function: Callable[..., object]) -> Callable[..., None]:
    """`function`, ended without a word by a failed assumption: tools may report even SystemExit in a thread."""

    def run(*args: object, **kwargs: object) -> None:
        with contextlib.suppress(AssumptionFailed):
            function(*args, **kwargs)

    run.__name__ = getattr(function, "__name__", "run")
    return run


def join_all() -> None:
    """Join the threads that the calling thread has spawned, in the order in which it did."""
    host = current.active_host()
    if host is None:
        threads, _spawned.threads = _spawned.threads, []
        for thread in threads:
            thread.join()
        return
    caller = host.current_thread()
    children, caller.dpor_children = caller.dpor_children, None
    for child in children or ():
        # Not child.join(): what it checks first holds of every spawned thread.
        host.join(child.dpor_index, False)


def fence(order: str = "seq_cst") -> None:
    """A memory fence; changes nothing under sequential consistency. ValueError if the order does not exist."""
    check_order(order)
    host = current.active_host()
    if host is not None:
        host.fence(order)


def choose(options: Iterable[Value]) -> Value:
    """One of the options: a check tries each of them. ValueError if there is none."""
    values: Sequence[Value] = options if isinstance(options, Sequence) else list(options)  # pyright: ignore
    if not values:
        raise ValueError("choose needs at least one option")
    host = current.active_host()
    if host is not None:
        return values[host.choose(len(values))]
    import random

    return random.choice(values)


def nondet_int(name: str | None = None, low: int | None = None, high: int | None = None) -> int:
    """Any integer from `low` to `high`, both included and both optional; `name` is what reports call it.

    Inside a check it is symbolic: it stands for all its values at once, and a comparison that some of them pass and
    others do not is explored both ways (`docs/writing-models.md`, "Symbolic values").
    Raises ValueError if there is no such integer, TypeError if a bound is none. The check ends with a coded error if
    the solver is not installed (SOLVER_MISSING), or if the algorithm cannot explore symbolic values.
    """
    low = None if low is None else operator.index(low)
    high = None if high is None else operator.index(high)
    if low is not None and high is not None and low > high:
        raise ValueError(f"no integer is at least {low} and at most {high}")
    host = current.active_host()
    if host is None:
        import random

        least = low if low is not None else (-(2**31) if high is None else min(high, 0) - 2**31)
        most = high if high is not None else max(least, 0) + 2**31
        return random.randint(least, most)
    from dpor.symbolic.values import symbolic_integer

    return symbolic_integer(host, name, low, high)


def nondet_bool(name: str | None = None) -> bool:
    """True or False: inside a check symbolic, as `nondet_int`; `name` is what reports call it."""
    host = current.active_host()
    if host is None:
        import random

        return random.choice((False, True))
    from dpor.symbolic.values import symbolic_boolean

    return symbolic_boolean(host, name)


def assume(condition: object) -> None:
    """Go on only if the condition holds; if not, the thread stops here for good and the execution counts as blocked."""
    host = current.active_host()
    if host is not None:
        host.stop_unless(bool(condition))
    elif not condition:
        raise AssumptionFailed


def wait_until(predicate: Callable[[], object]) -> None:
    """Block the calling thread until `predicate()` is true."""
    host = current.active_host()
    if host is not None:
        host.wait_until(predicate)
        return
    import time

    pause = _FIRST_PAUSE
    while not predicate():
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def replay(model: Callable[..., object], schedule: str, *, allow_divergence: bool = False) -> ReplayResult:
    """Follow a schedule, as a counterexample shows it, on a model: raises what the schedule makes the model raise.

    If the schedule still breaks the model, the model's own exception is raised, with the counterexample as a note; a
    deadlock raises an AssertionError (`dpor.counterexample.replay.CounterexampleError`). If nothing breaks, the result
    is returned.
    Raises DporError: BAD_SCHEDULE or FOREIGN_SCHEDULE if the text is no schedule of this model, DIVERGED if the model
    no longer does what the schedule says, unless `allow_divergence`: the result then explains the divergence.
    """
    from dpor.counterexample import replay as replaying

    return replaying.replay(model, schedule, allow_divergence=allow_divergence)
