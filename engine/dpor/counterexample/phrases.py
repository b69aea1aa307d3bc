"""Operations in words and signs, as reports show them."""

from __future__ import annotations

from dpor.counterexample.operations import Operation
from dpor.results import SourceSpan, TraceStep, WaitingThread

_VERBS = {
    Operation.LOAD: "reads",
    Operation.MISS: "finds no",
    Operation.STORE: "writes",
    Operation.DELETE: "deletes",
    Operation.CONTAINS: "looks in",
    Operation.LENGTH: "takes the length of",
    Operation.ITERATE: "iterates over",
    Operation.READ_ALL: "reads all of",
    Operation.WRITE_ALL: "rewrites",
    Operation.READ: "reads",
    Operation.WRITE: "changes",
    Operation.CALL: "calls",
    Operation.ACQUIRE: "acquires",
    Operation.TRY_ACQUIRE: "tries to acquire",
    Operation.RELEASE: "releases",
    Operation.WAIT: "waits on",
    Operation.WAKE: "wakes up on",
    Operation.NOTIFY: "notifies",
    Operation.SET: "sets",
    Operation.CLEAR: "clears",
    Operation.PUT: "puts into",
    Operation.TRY_PUT: "finds no room in",
    Operation.GET: "gets from",
    Operation.TRY_GET: "finds nothing in",
    Operation.TASK_DONE: "has done a task of",
    Operation.JOIN_TASKS: "finds all tasks done of",
    Operation.ARRIVE: "comes to",
    Operation.MEET: "has met the others at",
    Operation.SPAWN: "starts",
    Operation.START: "starts",
    Operation.JOIN: "joins",
    Operation.END: "ends",
    Operation.CHOOSE: "chooses alternative",
    Operation.LOOK: "looks at a clock",
    Operation.NONDET: "takes the symbolic value",
    Operation.BRANCH: "decides",
    Operation.ASSUME: "assumes",
    Operation.WAIT_UNTIL: "waits until a condition holds",
    Operation.SPIN: "looks again, since what it looked at has changed",
    Operation.ATOMIC_LOAD: "loads",
    Operation.ATOMIC_STORE: "stores",
    Operation.EXCHANGE: "exchanges",
    Operation.COMPARE_EXCHANGE: "compares and exchanges",
    Operation.FETCH_ADD: "adds to",
    Operation.FETCH_SUB: "subtracts from",
    Operation.FETCH_OR: "sets bits of",
    Operation.FETCH_AND: "masks bits of",
    Operation.FENCE: "fences",
    Operation.BUFFER: "buffers",
    Operation.FLUSH: "flushes",
}

_WAITS = {
    Operation.ACQUIRE: "waits for",
    Operation.JOIN: "waits for the end of",
    Operation.WAIT: "waits to be notified on",
    Operation.WAKE: "waits to get back",
    Operation.PUT: "waits for room in",
    Operation.GET: "waits for an item of",
    Operation.JOIN_TASKS: "waits until all tasks are done of",
    Operation.MEET: "waits for the others at",
    Operation.WAIT_UNTIL: "waits for its condition",
    Operation.SPIN: "goes round in a loop",
    Operation.AWAIT: "waits for",
}

# Operations whose value is what the target holds afterwards.
_ARROW = frozenset(
    {
        Operation.STORE,
        Operation.ATOMIC_STORE,
        Operation.WRITE_ALL,
        Operation.PUT,
        Operation.EXCHANGE,
        Operation.FETCH_ADD,
        Operation.FETCH_SUB,
        Operation.FETCH_OR,
        Operation.FETCH_AND,
        Operation.BUFFER,
        Operation.FLUSH,
    }
)
_BARE = frozenset(
    {Operation.LOAD, Operation.STORE, Operation.ATOMIC_LOAD, Operation.ATOMIC_STORE, Operation.CALL}
)


def place_of(step: TraceStep) -> SourceSpan | None:
    """Where a reader looks for a step: the line of first-party code if there is one."""
    return step.call_site or step.location


def effect_text(step: TraceStep) -> str:
    """What a step did, in signs where they say it: `Account#1.balance ← 130`, `acquires Account#1.lock`; and from which
    write it read, if not from the latest.
    """
    return _effect_text(step) if step.source is None else f"{_effect_text(step)} ({step.source})"


def _effect_text(step: TraceStep) -> str:
    operation = Operation.of(step.operation)
    target = step.target or ""
    if operation in _BARE:
        return f"{target}{_outcome(operation, step.value)}"
    if operation is Operation.LENGTH:
        return f"len({target}){_outcome(operation, step.value)}"
    if operation is Operation.LOOK:
        return f"looks at a clock, and {'no time' if step.value == '0' else 'a year'} has passed"
    if operation is Operation.CHOOSE and step.value is not None and not step.value.isdecimal():
        # An event loop has decided.
        return step.value
    if operation is Operation.ITERATE and step.value is None:
        return f"finds no more in {target}"
    if operation is Operation.CONTAINS and target.endswith("]") and step.value is not None:
        return f"{'finds' if step.value == 'True' else 'does not find'} {target}"
    if operation is Operation.TRY_ACQUIRE and step.value is not None:
        return f"{'gets' if step.value == 'True' else 'does not get'} {target}"
    if operation is Operation.WAKE and step.value == "False":
        return f"gives up waiting on {target}"
    if operation is Operation.COMPARE_EXCHANGE and step.value is not None:
        return f"does not exchange {target}" if step.value == "False" else f"exchanges {target}: {step.value}"
    if operation is Operation.NOTIFY and step.value is not None:
        return f"notifies {target}, {_woken(step.value)}"
    if operation is Operation.NONDET:
        return f"{verb(operation)} {target} = {step.value}"
    if operation is Operation.START or operation is Operation.END:
        return verb(operation)
    words = f"{verb(operation, step.operation)} {target}".strip()
    if step.value is None or operation in _ARROW:
        return f"{words}{_outcome(operation, step.value)}"
    return f"{words}: {step.value}" if target else f"{words} {step.value}"


def describe_operation(step: TraceStep) -> str:
    """What a step did, with a verb: `reads Account#1.balance = 100`."""
    operation = Operation.of(step.operation)
    if operation is Operation.LENGTH:
        return f"reads {effect_text(step)}"
    return f"{verb(operation)} {effect_text(step)}" if operation in _BARE else effect_text(step)


def describe_step(step: TraceStep) -> str:
    """A step in one line: `main.0 reads Account#1.balance = 100 (line 12)`."""
    place = place_of(step)
    line = f" (line {place.line})" if place is not None else ""
    return f"{step.thread} {describe_operation(step)}{line}"


def describe_wait(wait: WaitingThread) -> str:
    """A waiting thread in one line: `main.0 holds a and waits for b, held by main.1 (line 12)`, or one of its tasks:
    `main, task work, waits for b (line 12)`.
    """
    line = f" (line {wait.location.line})" if wait.location is not None else ""
    held = f" holds {join_words(wait.held)} and" if wait.held else ""
    separator = "," if wait.task is not None else ""
    return f"{wait.thread}{held}{separator} {wait_text(wait)}{line}"


def wait_text(wait: WaitingThread) -> str:
    """What a thread waits for and who has it: `waits for Account#2.lock, held by main.1`; of a task with its name."""
    operation = Operation.of(wait.operation)
    if operation is Operation.AWAIT:
        task = f"task {wait.task}, " if wait.task is not None else ""
        return f"{task}waits for {wait.target or 'what nobody provides'}"
    words = f"{_WAITS.get(operation, 'waits for')} {wait.target or ''}".strip()
    if wait.waits_for is None or operation is Operation.JOIN:
        return words
    if wait.waits_for == wait.thread:
        return f"{words}, which it holds itself"
    return f"{words}, held by {wait.waits_for}"


def verb(operation: Operation, word: str = "") -> str:
    """The verb of an operation; of an unknown one its own word."""
    return _VERBS.get(operation, word)


def join_words(words: tuple[str, ...]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def _outcome(operation: Operation, value: str | None) -> str:
    if value is None:
        return ""
    return f" ← {value}" if operation in _ARROW else f" = {value}"


def _woken(value: str) -> str:
    return {"0": "nobody waits", "1": "1 thread wakes"}.get(value, f"{value} threads wake")
