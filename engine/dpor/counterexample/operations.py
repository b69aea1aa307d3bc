"""The words for visible operations, and what each does to its target.

The words are part of the report format; what an operation reads and writes decides which steps conflict, and
therefore which ones a counterexample shows.
"""

from __future__ import annotations

import enum


class Operation(enum.Enum):
    """A visible operation, as the kernel names it when it drives a recorder."""

    LOAD = "load"
    MISS = "miss"
    """A load that finds nothing: no such item, attribute or variable."""
    STORE = "store"
    DELETE = "delete"
    CONTAINS = "contains"
    LENGTH = "length"
    ITERATE = "iterate"
    READ_ALL = "read-all"
    WRITE_ALL = "write-all"
    READ = "read"
    """An operation that has no name of its own, and that reads what it is on."""
    WRITE = "write"
    """The same of one that may change it."""
    CALL = "call"
    ACQUIRE = "acquire"
    TRY_ACQUIRE = "try-acquire"
    RELEASE = "release"
    WAIT = "wait"
    WAKE = "wake"
    NOTIFY = "notify"
    SET = "set"
    CLEAR = "clear"
    PUT = "put"
    TRY_PUT = "try-put"
    """A put that finds no room."""
    GET = "get"
    TRY_GET = "try-get"
    """A get that finds nothing."""
    TASK_DONE = "task-done"
    JOIN_TASKS = "join-tasks"
    """The end of a wait until all tasks of a queue are done."""
    ARRIVE = "arrive"
    """A thread comes to a barrier."""
    MEET = "meet"
    """The end of its wait until all have come."""
    SPAWN = "spawn"
    START = "start"
    JOIN = "join"
    END = "end"
    CHOOSE = "choose"
    LOOK = "look"
    """A thread is about to look at a clock, and time has passed or not."""
    NONDET = "nondet"
    BRANCH = "branch"
    ASSUME = "assume"
    WAIT_UNTIL = "wait-until"
    SPIN = "spin"
    AWAIT = "await"
    """A task waits: no step, as the event loop's thread goes on with other tasks."""
    ATOMIC_LOAD = "atomic-load"
    ATOMIC_STORE = "atomic-store"
    EXCHANGE = "exchange"
    COMPARE_EXCHANGE = "compare-exchange"
    FETCH_ADD = "fetch-add"
    FETCH_SUB = "fetch-sub"
    FETCH_OR = "fetch-or"
    FETCH_AND = "fetch-and"
    FENCE = "fence"
    BUFFER = "buffer"
    """A store enters the store buffer of its thread (TSO, PSO)."""
    FLUSH = "flush"
    """A store leaves the store buffer of its thread: from now on the other threads see it."""
    OTHER = "other"

    @classmethod
    def of(cls, word: str) -> Operation:
        """The operation that `word` names; `OTHER` for a word that this version does not know."""
        return _BY_WORD.get(word, cls.OTHER)

    @property
    def scheduled(self) -> str:
        """The word in a schedule. What an operation without a name accesses depends on what is visible, which a
        schedule does not say, and what a load finds does not count.
        """
        if self is Operation.MISS:
            return Operation.LOAD.value
        return _NAMELESS if self.is_nameless else self.value

    @property
    def is_nameless(self) -> bool:
        """True if the operation has no name of its own."""
        return self in (Operation.READ, Operation.WRITE)

    @property
    def is_memory(self) -> bool:
        """True if the operation accesses data: variables, attributes, items, containers, atomics."""
        return self in _MEMORY

    @property
    def is_synchronisation(self) -> bool:
        """True if the operation is one of a primitive: lock, condition, semaphore, event, queue."""
        return self in _SYNCHRONISATION

    @property
    def is_lifecycle(self) -> bool:
        """True if the operation starts, ends or joins a thread."""
        return self in _LIFECYCLE


_NAMELESS = "access"

_BY_WORD = {operation.value: operation for operation in Operation}

_LIFECYCLE = frozenset({Operation.SPAWN, Operation.START, Operation.JOIN, Operation.END})

_SYNCHRONISATION = frozenset(
    {
        Operation.ACQUIRE,
        Operation.TRY_ACQUIRE,
        Operation.RELEASE,
        Operation.WAIT,
        Operation.WAKE,
        Operation.NOTIFY,
        Operation.SET,
        Operation.CLEAR,
        Operation.PUT,
        Operation.TRY_PUT,
        Operation.GET,
        Operation.TRY_GET,
        Operation.TASK_DONE,
        Operation.JOIN_TASKS,
        Operation.ARRIVE,
        Operation.MEET,
    }
)

_READS = frozenset(
    {
        Operation.LOAD,
        Operation.MISS,
        Operation.CONTAINS,
        Operation.LENGTH,
        Operation.ITERATE,
        Operation.READ_ALL,
        Operation.READ,
        Operation.ATOMIC_LOAD,
    }
)

_WRITES = frozenset(
    {
        Operation.STORE,
        Operation.DELETE,
        Operation.WRITE_ALL,
        Operation.WRITE,
        Operation.ATOMIC_STORE,
        Operation.BUFFER,
        Operation.FLUSH,
    }
)

_BOTH = frozenset(
    {
        Operation.EXCHANGE,
        Operation.COMPARE_EXCHANGE,
        Operation.FETCH_ADD,
        Operation.FETCH_SUB,
        Operation.FETCH_OR,
        Operation.FETCH_AND,
    }
)

_MEMORY = _READS | _WRITES | _BOTH | {Operation.CALL}

_READING_METHODS = frozenset(
    {
        "get",
        "keys",
        "values",
        "items",
        "copy",
        "count",
        "index",
        "__len__",
        "__contains__",
        "__getitem__",
        "__iter__",
        "__reversed__",
        "isdisjoint",
        "issubset",
        "issuperset",
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "most_common",
        "elements",
        "total",
    }
)

_SILENT_METHODS = frozenset(
    {
        "append",
        "appendleft",
        "extend",
        "extendleft",
        "insert",
        "add",
        "update",
        "clear",
        "discard",
        "reverse",
        "sort",
        "rotate",
        "__setitem__",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
        "subtract",
    }
)


def effect(operation: Operation, method: str | None, value: str | None) -> tuple[bool, bool]:
    """Say what an operation does to its target: (reads, writes).

    `method` is the method's name for a `call`; `value` the text of its outcome. A method that changes a
    container and tells nothing about it (`append`) is a write only; a failed compare-exchange is a read.
    """
    if operation is Operation.CALL:
        if method in _READING_METHODS:
            return True, False
        return method not in _SILENT_METHODS, True
    if operation is Operation.COMPARE_EXCHANGE and value == "False":
        return True, False
    if operation in _BOTH:
        return True, True
    return operation in _READS, operation in _WRITES
