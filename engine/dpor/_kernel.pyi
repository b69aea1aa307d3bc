"""Types of the compiled kernel, as far as the Python side uses it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

class Abort(BaseException):
    """Raised in a model thread whose execution is given up; never to be swallowed."""

class Failed:
    """What went wrong in an execution: `kind` is "exception", "misuse", "deadlock", "livelock" or "data-race".

    `waiting` are a thread, its operation and who holds what it waits for, each; `other` and `location` those of a race.
    """

    kind: str
    thread: str
    exception: BaseException | None
    waiting: list[tuple[str, str, str | None]]
    other: str | None
    location: int | None

class Explored:
    """What was explored: executions by how they ended, events in all, and seconds. `classes` are those of the
    algorithm's own equivalence.
    """

    executions: int
    blocked: int
    redundant: int
    cut: int
    events: int
    seconds: float
    classes: int | None

    @property
    def interleavings(self) -> int:
        """All executions that were begun."""

class Outcome:
    """How an exploration has ended.

    `bound` is the name of the bound that was reached. At most one says why the check cannot go on: `uncontrolled` (what
    could not be controlled), `forbidden` (what a predicate did that it may not do, file and line), `untreated` (what
    the algorithm does not treat), `error` (a coded error of the symbolic layer). `restart` says why it has to begin
    anew, for "rebound" with modules and variables in `rebinding`. `frontier` is what is left, for `frontiers`, after a
    host has followed the schedules `learned` with the algorithm "learn". `lacks_root` says that no thread was the
    `root`. `nondeterminism` is a step, a thread, what that was about to do before and now, file and line; `divergence`
    a step and a thread that could not go on there; `all_slept` says that an execution came to where all threads slept
    that could run, which `optimal` never plans. `by_turns` says that turns of event loops were events;
    `failed_turns` are the decisions of a loop, as `choose` would draw them, by which such an execution failed, and
    `failed_sections` the schedule of one that failed with critical sections as events.
    """

    explored: Explored
    complete: bool
    bound: str | None
    uncontrolled: str | None
    forbidden: tuple[str, str | None, int] | None
    untreated: str | None
    error: BaseException | None
    restart: str | None
    rebinding: list[tuple[str, str]]
    by_turns: bool
    failed_turns: list[int] | None
    by_sections: bool
    failed_sections: list[tuple[str, int]] | None
    frontier: str | None
    learned: list[list[tuple[str, int]]]
    lacks_root: bool
    nondeterminism: tuple[int, str, str, str, str | None, int] | None
    divergence: tuple[int, str] | None
    all_slept: bool

class Cell:
    """A closure variable that is rebound."""

    name: str
    @property
    def cell_contents(self) -> Any: ...

class ControlledCall:
    """A call of built-in or uninstrumented code, made a visible operation."""

    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def treatment(self) -> str:
        """What a call is taken for, by the name of its effect."""
    def __call__(self, *arguments: Any, **keywords: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

class Lock:
    def __init__(self) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def locked(self) -> bool: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class RLock:
    def __init__(self) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Condition:
    def __init__(self, lock: Any = None) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T: ...
    def notify(self, n: int = 1) -> None: ...
    def notify_all(self) -> None: ...

class Semaphore:
    def __init__(self, value: int = 1) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool: ...
    def release(self, n: int = 1) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class BoundedSemaphore(Semaphore): ...

class Event:
    def __init__(self) -> None: ...
    def is_set(self) -> bool: ...
    def set(self) -> None: ...
    def clear(self) -> None: ...
    def wait(self, timeout: float | None = None) -> bool: ...

class SimpleQueue(Generic[T]):
    def __init__(self) -> None: ...
    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None: ...
    def get(self, block: bool = True, timeout: float | None = None) -> T: ...
    def put_nowait(self, item: T) -> None: ...
    def get_nowait(self) -> T: ...
    def empty(self) -> bool: ...
    def qsize(self) -> int: ...

class TaskQueue:
    """What stands for the lock, the conditions and the items of a `queue.Queue`; each of its methods is one step."""

    @staticmethod
    def make(capacity: int, last_first: bool) -> TaskQueue | None:
        """The inside of a new queue that takes `capacity` items (any number for 0), the last put first if `last_first`;
        None where the library's own code is to run.
        """

    @staticmethod
    def of_places(taken: int) -> TaskQueue:
        """A queue without end of which at most so many items are taken."""

    bounded: bool
    last_first: bool

    def open(self) -> None:
        """Something uses what only the library's own code has: explore again with that. Between executions nothing."""

    def put(self, shown: object, item: object, block: bool, timeout: float | None) -> bool:
        """Put an item into the queue `shown`. Returns whether there was room."""

    def get(self, shown: object, block: bool, timeout: float | None) -> Sequence[Any]:
        """Take an item; an empty sequence if there is none."""

    def task_done(self, shown: object) -> bool:
        """Returns False if all tasks were done already."""

    def join(self, shown: object) -> None: ...
    def qsize(self) -> int: ...
    def empty(self) -> bool: ...
    def full(self) -> bool: ...

class Meeting:
    """What stands for the lock, the condition and the count of a `Barrier`."""

    def open(self) -> None:
        """Something uses what only the library's own code has: explore again with that. Between executions nothing."""

    def wait(self, shown: object, order_is_seen: bool) -> int:
        """Come to the barrier `shown`, and wait until all have come. Returns how many came before, if that is seen."""

class Completion:
    """What stands for the lock, the state and the waiters of a `Future`; each of its methods is one step.

    Those that return a text return what the attribute `_state` was.
    """

    stage: str

    @staticmethod
    def make() -> Completion | None:
        """The inside of a new future; None where the library's own code is to run."""

    @staticmethod
    def are_closed() -> bool:
        """Whether the pools of this execution are primitives."""

    @staticmethod
    def overflow(number: int, /) -> int:
        """How many tasks of a pool wait for a worker at most. At least `number` do: explore again with that, if new."""

    @staticmethod
    def must_not_wait() -> None:
        """Explore again with the library's own code if the running thread waits for others from now on."""

    def open(self) -> None:
        """Something uses what only the library's own code has: explore again with that. Between executions nothing."""

    def look(self, shown: object, exactly: bool) -> str: ...
    def begin(self, shown: object) -> str: ...
    def finish(self, shown: object, keep: Callable[[], object]) -> str: ...
    def cancel(self, shown: object) -> str: ...
    def add_callback(self, shown: object) -> bool:
        """Whether the callback is kept for later."""

    def wait(self, shown: object) -> None: ...
    def wait_settled(self, shown: object) -> None: ...

class Watch:
    """Several futures whose order is waited for."""

    @staticmethod
    def begin(shown: object, futures: Sequence[Completion]) -> tuple[Watch, list[bool]]:
        """Begin to watch futures; which of them have settled already."""

    def next(self, shown: object) -> int:
        """Wait for the next to settle. Returns its place among the futures."""

class Atomic(Generic[T]):
    def __init__(self, initial: T) -> None: ...
    value: T
    def load(self, order: str = "seq_cst") -> T: ...
    def store(self, value: T, order: str = "seq_cst") -> None: ...
    def exchange(self, value: T, order: str = "seq_cst") -> T: ...
    def compare_exchange(self, expected: T, desired: T, order: str = "seq_cst") -> bool: ...
    def fetch_add(self, amount: T, order: str = "seq_cst") -> T: ...
    def fetch_sub(self, amount: T, order: str = "seq_cst") -> T: ...
    def fetch_or(self, bits: T, order: str = "seq_cst") -> T: ...
    def fetch_and(self, bits: T, order: str = "seq_cst") -> T: ...

class OwnedLock:
    """The lock of one file (`flock`) or module, in the running execution; its owners are told apart by name."""

    def __init__(self, world: object, key: str, name: str) -> None:
        """The lock of what `world` calls `key`, the same in every execution; `name` is what reports call it."""

    @property
    def name(self) -> str: ...
    def acquire(self, owner: str, alone: bool, blocking: bool) -> bool:
        """Let `owner` take the lock, alone or together with others, and give whether it holds it then. What it held in
        the other way it gives up before.
        """

    def release(self, owner: str) -> bool:
        """Let `owner` give up what it holds, if anything, and give whether there was an execution to do so in."""

class Host:
    """One check's hold on this OS thread: the hooks that instrumented code calls, and the runtime's services."""

    def install(self) -> None: ...
    def uninstall(self) -> None: ...
    def close(self) -> None:
        """Let go of the model; nothing can be explored afterwards."""

    def enter_namespace(self, namespace: dict[str, Any], first_party: bool, /) -> None:
        """Take a dict for the namespace of an instrumented module, which may be the user's own, until it is left."""

    def leave_namespace(self, namespace: dict[str, Any], /) -> None: ...
    def is_instrumented(self, namespace: dict[str, Any], /) -> bool: ...
    def is_first_party(self, namespace: dict[str, Any], /) -> bool: ...
    def sleep(self, asleep: bool) -> bool:
        """Have hooks go straight through, or no longer; returns whether they did."""

    def use_texts(self, code: Callable[[str | bytes, object, object], CodeType | None]) -> None:
        """Have code made of the expressions that `eval` is given: from the text, the variables and the local ones
        (None: those of the calling frame). It gives None for what cannot be seen, which is then refused.
        """

    def set_importing_unseen(self, importing: bool) -> bool:
        """Say that the body of a module runs that nobody looks into, for an execution. Returns whether it did."""

    def set_importing(self, importing: bool) -> bool:
        """Say that the model's modules are being imported, or no longer; returns whether they were."""

    def use_library(
        self, standard: Sequence[str], own: Sequence[str], include: Callable[[list[Any]], None]
    ) -> None:
        """Have modules of the standard library instrumented when they are needed."""

    def leave_modules(
        self,
        names: Sequence[str],
        described: Sequence[str],
        unchanging: Sequence[str],
        incurious: Sequence[str],
        shallow: Sequence[str],
        at_once: Sequence[str],
    ) -> None:
        """Leave modules of the standard library as they are, as long as that cannot be told."""

    def tell_instrumented(self, code: CodeType) -> None:
        """Say of code, and of all code that is defined in it, that it is instrumented."""

    def tell_foreign(self, code: CodeType) -> None:
        """Say that it is not, and that nothing is known of it."""

    def trust_code(self, code: CodeType) -> None:
        """Say that it needs no watching."""

    def keep(self, object: object, named: bool, /) -> None:
        """What an execution changes of the object is put back before the next."""

    def keep_of_model(self, object: object, /) -> None:
        """The object exists before executions begin: a module of the model's holds it."""

    def keep_of_module(self, object: object, name: str, /) -> None:
        """The same as `keep`, of a container that a module has by this name and uses without being seen."""

    def use_unseen(self, object: object, name: str, /) -> None:
        """The same, of attributes of its namespace, or of an object in C that it has."""

    def entered(self) -> None:
        """What code of a package that is not instrumented calls whenever a function of it begins to run."""

    def frontier(self) -> str | None: ...
    def split(self) -> str | None: ...
    def learned(self) -> list[list[tuple[str, int]]]: ...
    @staticmethod
    def algorithms() -> list[str]: ...
    @staticmethod
    def alternative(algorithm: str, memory_model: str) -> str | None: ...
    def explore(
        self,
        main: Callable[[], object],
        main_thread: object,
        *,
        algorithm: str = "optimal",
        memory_model: str = "sc",
        seed: int = 0,
        samples: int = 1000,
        depth: int = 0,
        k: int | None = None,
        root: str | None = None,
        max_steps: int | None = None,
        max_executions: int | None = None,
        preemption_bound: int | None = None,
        timeout: float | None = None,
        bound: int = 0,
        reads_from: bool = False,
        chosen_reads: bool = False,
        waits_by_spinning: bool = False,
        steps: list[tuple[str, int]] | None = None,
        complete: bool = False,
        frontiers: Sequence[str] = (),
        stop_at_failure: bool = True,
        everything_visible: bool = False,
        everything_races: bool | None = None,
        fresh_modules: bool = False,
        spurious_wakeups: bool = False,
        clock_jumps: int = 0,
        turns: bool = False,
        sections: bool = False,
        in_sections: bool = False,
        library_queues: bool = False,
        library_pools: bool = True,
        data_races: str = "ignore",
        solver: Callable[[list[tuple[int, bool]], int], tuple[bool, bool]] | None = None,
        recorder: object = None,
        on_failure: Callable[[Failed | None, list[tuple[str, int]]], object] | None = None,
        on_progress: Callable[[int, int, int, int, float, float], object] | None = None,
    ) -> Outcome:
        """Explore the executions of `main`, run as the thread object `main_thread`.

        `on_failure(failed, choices)` is told of each failure, and of None when what failed before does not count; False
        ends the exploration. `on_progress(executions, blocked, redundant, events, seconds,
        fraction)` cancels it with False. Raises ValueError for an algorithm that does not exist or does not support
        the memory model, TypeError for an argument that does not exist.
        """
    @staticmethod
    def decides_branches(algorithm: str) -> bool: ...
    @property
    def active(self) -> bool: ...
    @property
    def probing(self) -> bool: ...
    @property
    def solver(self) -> Any: ...
    def branch(self, condition: int) -> bool: ...
    def literals(self) -> list[tuple[int, bool]]: ...
    def path(self) -> list[tuple[int, bool]]: ...
    def made_symbolic(self, name: str, value: object) -> None: ...
    def refuse(self, error: Exception) -> None: ...
    @property
    def execution(self) -> int: ...
    def enter_lane(self, lane: int) -> None:
        """The thread goes on with another of its activities: the task with this number, or 0 for none."""
    def waiting_threads(self) -> list[str]:
        """The spawn paths of the threads that cannot go on as things stand; for a recorder, after a step."""
    def spawn(self, thread: object, target: Callable[[], None], daemon: bool) -> int: ...
    def next_thread(self) -> int:
        """The index that the next thread will have that the running thread starts."""

    def join(self, index: int, timed: bool) -> bool: ...
    def is_finished(self, index: int) -> bool:
        """Whether a thread has ended. It need not have been started: then it has not."""
    def held_locks(self) -> list[int]:
        """The locks that the running thread holds, by numbers of this execution."""
    def current_thread(self) -> Any: ...
    def id(self, object: object, /) -> int:
        """What `id` gives in a model."""
    def current_index(self) -> int: ...
    def do_not_count(self, calls: int, /) -> None:
        """Have so many nested calls not count towards the recursion limit, until it is called with as many less than
        none.
        """
    def uncounted_calls(self) -> int:
        """How many nested calls do not count at the moment."""
    def recursion_limit(self) -> int:
        """What `sys.getrecursionlimit` gives in a model."""
    def note_recursion_limit(self, limit: int, /) -> None:
        """`sys.setrecursionlimit` has been called with this limit, to which the calls that do not count were added."""
    def thread_path(self, index: int) -> str: ...
    def choose(self, count: int, describe: Callable[[int], object] | None = None) -> int:
        """Draw one of `count` alternatives; `describe` gives what a recorder is told in the place of its number."""
    def stop_unless(self, condition: bool) -> None: ...
    def assume(self, kind: str, subject: str) -> None: ...
    def assumptions(self) -> list[tuple[str, str, str | None, int]]: ...
    @staticmethod
    def assumption_kinds() -> list[str]: ...
    def wait_until(self, predicate: Callable[[], object]) -> None: ...
    def fence(self, order: str = "seq_cst") -> None: ...
    def advance_time(self, seconds: float) -> None: ...
    def time(self) -> float: ...
    def let_clock_jump(self) -> bool: ...
    def may_take_turns(self) -> bool: ...
    def takes_turns(self) -> bool: ...
    def note_started(self, coroutine: object, task: int | None) -> None:
        """A task, by its number, is made of a coroutine, or one of asyncio awaits it for the running task (None)."""
    def leave_turns(self) -> None: ...
    def next_turn(self, timers: list[int], early: list[int], could_go_on: bool) -> int: ...
    def turns_are_stuck(self) -> None: ...
    def make_timer(self, after: list[int] | None) -> int: ...
    def touch_timer(self, timer: int) -> None: ...
    def see_timer(self, timer: int) -> None: ...
    def turn_object(self) -> int: ...
    def touch_object(self, number: int, changes: bool) -> None: ...
    def touch_clock(self) -> None: ...
    def touch_ready(self, adds: bool) -> None: ...
    def end_in_group(self, number: int, completes: bool) -> None: ...
    def touch_group(self, number: int) -> None: ...
    def deadline_time(self) -> float: ...
    def processor_time(self) -> float: ...
    def had_effect(self, what: str) -> None: ...
    def outside_predicates(self, what: str) -> None: ...
    def see_operands(self) -> None: ...
    def end_uncontrolled(self, message: str) -> None: ...
    def fail(self, exception: BaseException, /) -> None:
        """Have the execution fail with an exception after which the running thread goes on."""

    def outside(
        self,
        world: object,
        reads: tuple[str, ...],
        writes: tuple[str, ...],
        entered: tuple[str, ...],
        latent: tuple[str, ...],
        everything: bool,
        label: str,
        /,
    ) -> bool:
        """A system call is about to be made: one operation on what the names stand for. Gives whether other
        threads may have run before it.

        It changes what `writes` names, one entry of each of `entered`, what `latent` names once that matters to another
        call, and with `everything` whatever there is.
        """

    def use_stand_in_classes(self, classes: dict[type, object]) -> None:
        """Have `classes` name, for classes of primitives, what programs have in their place: they find it as the class
        of an object.
        """

    def meeting(self, parties: int) -> Meeting | None:
        """The inside of a new barrier for so many threads; None where the library's own code is to run."""

    def use_barriers(self, barriers: type) -> None:
        """Have the instances of a class be barriers, which may have a `Meeting` inside."""

    def is_alone(self) -> bool:
        """Whether no other thread runs: none has been started yet, or all have been joined."""

    def registers_classes(self) -> None:
        """Say that a class is registered with an abstract one beside other threads, so that questions about classes
        matter from now on. Ends the check where they cannot be operations.
        """

    def is_held_by_another(self, lock: object) -> bool:
        """Whether another thread holds a lock of the kernel; True for any other object. An operation that reads."""

    def begin_anew(self) -> None:
        """Explore again, as what the exploration rested on is false and the caller has noted what is true."""

    def mark_module_state(self) -> None:
        """Say that the model uses state that its modules made when they were imported, and that changes."""

    def load_attribute(self, obj: Any, name: str) -> Any: ...
    def store_attribute(self, value: Any, obj: Any, name: str) -> None: ...
    def delete_attribute(self, obj: Any, name: str) -> None: ...
    def load_item(self, obj: Any, key: Any) -> Any: ...
    def store_item(self, value: Any, obj: Any, key: Any) -> None: ...
    def delete_item(self, obj: Any, key: Any) -> None: ...
    def load_global(self, name: str, /) -> Any: ...
    def store_global(self, value: Any, name: str, /) -> None: ...
    def delete_global(self, name: str, /) -> None: ...
    def new_cell(self, name: str, value: Any = ...) -> Cell: ...
    def load_cell(self, cell: Cell, free: bool = False, /) -> Any: ...
    def store_cell(self, value: Any, cell: Cell) -> None: ...
    def delete_cell(self, cell: Cell, free: bool = False, /) -> None: ...
    def method(self, obj: Any, name: str) -> Callable[..., Any]: ...
    def method_of_statement(self, obj: Any, name: str) -> Callable[..., Any]: ...
    def callee(self, function: Callable[..., Any]) -> Callable[..., Any]: ...
    def truth(self, obj: Any) -> bool: ...
    def iterate(self, obj: Any) -> Iterator[Any]: ...
    def contains(self, item: Any, container: Any) -> bool: ...
    def observe(self, obj: T) -> T: ...
    def unpacked(self, obj: Any, names: int | None, /) -> Any: ...
    def rebind(self, module: str, variable: str) -> None: ...
    def hashed(self, key: T) -> T: ...
    def drawn(self, number: T) -> T: ...
    def compare(self, number: int, left: Any, right: Any) -> Any: ...
    def identical(self, left: Any, right: Any) -> Any: ...
    def number(self, obj: Any) -> Any: ...
    def operate(self, operator: int, left: Any, right: Any) -> Any: ...
    def inplace(self, operator: int, target: Any, operand: Any) -> Any: ...
    def format(self, value: Any, conversion: int, specification: str) -> str: ...
    def matched(self, obj: Any, names: Sequence[str]) -> list[Any]: ...
    def open_pools(self) -> None: ...
    def access_whole(self, container: Any, writes: bool, owner: object = None, /) -> None: ...
    def together(self, containers: Sequence[Any], *, writes: bool) -> None: ...
    def merged(self, obj: T, /) -> T | dict[Any, Any]: ...
    def created(self, obj: T) -> T: ...
    def defined(self, made: T, /) -> T: ...
    def metaclass(self, given: T, /) -> T: ...
    def returned(self, value: object, /) -> None: ...
    def raised(self, exception: T, /) -> T: ...
    def reraised(self) -> None: ...
    def chained(self, exception: Any, cause: Any, /) -> BaseException: ...
    def yields(self, value: T) -> T: ...
    def awaited(self, value: T, /) -> T: ...
    def ending(self, iterable: Iterable[T]) -> Iterator[T]: ...
    def enter_loop(self) -> int: ...
    def at_loop_head(self, token: int, /) -> bool: ...
    def enter_suspended_loop(self) -> int: ...
    def at_suspended_loop_head(self, token: int, /) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def active_host() -> Host | None:
    """The Host of the execution that the caller is part of, or None if the caller is ordinary code."""

def current_host() -> Host | None:
    """The Host installed in this OS thread, or None."""

def stand_in_function(function: Callable[..., Any], real: BuiltinFunctionType, /) -> BuiltinFunctionType:
    """A function in C that calls `function` and tells of itself what `real` does."""

def function_behind(callable: object, /) -> Callable[..., Any] | None:
    """The function that a `stand_in_function` calls; None for anything else."""
