"""Recorder, names, relevance and patterns on ordinary source, run by a small scripted scheduler.

The scheduler stands in for the kernel: it rewrites attribute, item and container accesses into hooks whose frames
are hidden, runs each thread as a greenlet, and lets the thread go on that the script names at every operation.
"""

from __future__ import annotations

import ast
import functools
import linecache
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import greenlet
import pytest

from dpor.codes import Code
from dpor.counterexample.explain import explain
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.schedule import Schedule, encode
from dpor.counterexample.text import render
from dpor.results import Pattern, TraceStep, Violation, ViolationKind

# Compiled under a file name that no report shows, so that frames of hooks are as good as absent.
HOOKS = """
def memory(word, perform, describe):
    def hook(*arguments):
        target, key = describe(*arguments)
        pause(f"{word} {key}" if key is not None else word)
        result = perform(*arguments)
        step(current(), word, target, key, arguments[0] if word == "store" else result, True)
        return result
    return hook

load_attribute = memory("load", getattr, lambda obj, name: (obj, name))
store_attribute = memory("store", lambda value, obj, name: setattr(obj, name, value), lambda v, obj, name: (obj, name))
load_item = memory("load", lambda obj, key: obj[key], lambda obj, key: (obj, key))
store_item = memory("store", lambda value, obj, key: obj.__setitem__(key, value), lambda v, obj, key: (obj, key))
contains = memory("contains", lambda item, obj: item in obj, lambda item, obj: (obj, item))
length = memory("length", len, lambda obj: (obj, None))

def call(obj, name, *arguments):
    pause(name)
    if isinstance(obj, (list, dict)):
        value = getattr(obj, name)(*arguments)
        step(current(), "call", obj, name, value, True)
        return value
    return globals()[name](obj)

def take(lock, word):
    while lock in owners:
        waiting(current(), word, lock)
        block("acquire", lock)
    owners[lock] = current()
    step(current(), word, lock, None, True, True)

def acquire(lock):
    take(lock, "acquire")

def release(lock, word="release"):
    del owners[lock]
    unblock(lock)
    step(current(), word, lock, None, None, True)

def wait(condition):
    me = current()
    release(condition, "wait")
    queue.append(me)
    while me in queue:
        waiting(me, "wake", condition)
        block("wake", condition)
    take(condition, "wake")

def notify(condition):
    woken = queue[:1]
    del queue[:1]
    for path in woken:
        del blocked[path]
    step(current(), "notify", condition, None, len(woken), True)

def join(thread):
    while not finished(thread):
        waiting(current(), "join", thread)
        block("join", thread)
    step(current(), "join", thread, None, None, True)

def spawn(function, *arguments, name=None):
    thread = start(function, arguments, name)
    step(current(), "spawn", thread, None, None, True)
    return thread
"""


class Lock:
    """A lock whose operations the scheduler performs."""


Lock.__module__ = "dpor._kernel"


class Condition(Lock):
    """A condition that is its own lock."""


Condition.__module__ = "dpor._kernel"


Script = Sequence[tuple[str, str]]


class Thread:
    def __init__(self, function: Callable[[], object], name: str | None) -> None:
        self._name = name
        self.function = function


Thread.__module__ = "dpor.runtime.thread"


class Rewriter(ast.NodeTransformer):
    """Turns accesses into calls of hooks at the same place."""

    def call(self, node: ast.AST, hook: str, *arguments: ast.expr) -> ast.Call:
        return ast.copy_location(
            ast.fix_missing_locations(
                ast.copy_location(ast.Call(ast.Name(hook, ast.Load()), list(arguments), []), node)
            ),
            node,
        )

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr not in METHODS:
            return self.call(node, "load_attribute", node.value, ast.Constant(node.attr))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return (
            self.call(node, "load_item", node.value, node.slice) if isinstance(node.ctx, ast.Load) else node
        )

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            found = self.call(node, "contains", node.left, node.comparators[0])
            return (
                found
                if isinstance(node.ops[0], ast.In)
                else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
            )
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        value = self.visit(node.value)
        return self.store(node, node.targets[0], value) or ast.copy_location(
            ast.Assign(node.targets, value), node
        )

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        loaded = ast.copy_location(
            self.visit(ast.parse(ast.unparse(node.target), mode="eval").body), node.target
        )
        for part in ast.walk(loaded):
            ast.copy_location(part, node.target)
        value = ast.copy_location(ast.BinOp(loaded, node.op, self.visit(node.value)), node)
        stored = self.store(node, node.target, value)
        assert stored is not None
        return stored

    def store(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> ast.stmt | None:
        if isinstance(target, ast.Attribute):
            hook = self.call(target, "store_attribute", value, target.value, ast.Constant(target.attr))
        elif isinstance(target, ast.Subscript):
            hook = self.call(target, "store_item", value, self.visit(target.value), target.slice)
        else:
            return None
        return ast.copy_location(ast.Expr(hook), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in METHODS:
            return self.call(node, "call", function.value, ast.Constant(function.attr), *node.args)
        if isinstance(function, ast.Name) and function.id == "len":
            return self.call(node, "length", *node.args)
        return node


METHODS = ("append", "pop", "acquire", "release", "wait", "notify")


class Scheduler:
    """Runs threads as a script of (thread, operation) says: each goes on until it is about to do the operation.

    The operation `""` stands for as far as the thread can go; after the script the threads run in spawn order.
    """

    def __init__(self, folder: Path, script: Script) -> None:
        self.recorder = Recorder(lambda filename: filename.startswith(str(folder)), folder)
        self.script = script
        self.threads: dict[str, greenlet.greenlet] = {}
        self.paths: dict[int, str] = {}
        self.pending: dict[str, str] = {}
        self.blocked: dict[str, tuple[str, object]] = {}
        self.failure: tuple[str, BaseException] | None = None

    def current(self) -> str:
        return next(path for path, thread in self.threads.items() if thread is greenlet.getcurrent())

    def pause(self, operation: str) -> None:
        self.pending[self.current()] = operation
        self.hub.switch()

    def run(self, main: Callable[[], object]) -> None:
        self.hub = greenlet.getcurrent()
        self.add("main", main)
        for path, operation in self.script:
            while self.is_ready(path):
                self.threads[path].switch()
                if operation and self.pending.get(path) == operation:
                    break
        while ready := [path for path in self.threads if self.is_ready(path)]:
            self.threads[ready[0]].switch()
        for path, (operation, target) in self.blocked.items():
            self.recorder.blocked(path, operation, target)

    def is_ready(self, path: str) -> bool:
        return self.failure is None and not self.threads[path].dead and path not in self.blocked

    def add(self, path: str, function: Callable[[], object]) -> None:
        def body() -> None:
            try:
                function()
            except Exception as error:
                self.failure = (path, error)
            for waiting, (operation, target) in list(self.blocked.items()):
                if operation == "join" and self.paths[id(target)] == path:
                    del self.blocked[waiting]

        self.threads[path] = greenlet.greenlet(body)

    def start(
        self, function: Callable[..., object], arguments: tuple[object, ...], name: str | None
    ) -> Thread:
        parent = self.current()
        thread = Thread(functools.partial(function, *arguments), name)
        path = f"{parent}.{sum(other.rpartition('.')[0] == parent for other in self.threads)}"
        self.paths[id(thread)] = path
        self.add(path, thread.function)
        return thread

    def block(self, operation: str, target: object) -> None:
        self.blocked[self.current()] = (operation, target)
        self.hub.switch()

    def unblock(self, target: object) -> None:
        for path, blocked in list(self.blocked.items()):
            if blocked == ("acquire", target):
                del self.blocked[path]

    def hooks(self) -> dict[str, Any]:
        scope: dict[str, Any] = {
            "current": self.current,
            "pause": self.pause,
            "step": self.recorder.step,
            "waiting": self.recorder.waiting,
            "block": self.block,
            "unblock": self.unblock,
            "blocked": self.blocked,
            "start": self.start,
            "owners": {},
            "queue": [],
            "finished": lambda thread: self.threads[self.paths[id(thread)]].dead,
            "Lock": Lock,
            "Condition": Condition,
        }
        exec(compile(HOOKS, "<hooks>", "exec"), scope)
        return scope


def record(folder: Path, source: str, script: Script) -> tuple[Scheduler, Violation | None]:
    """Run `model` of a source under a script; the violation if it breaks."""
    file = folder / "bank.py"
    file.write_text(textwrap.dedent(source), encoding="utf-8")
    linecache.checkcache(str(file))
    tree = ast.fix_missing_locations(Rewriter().visit(ast.parse(file.read_text(encoding="utf-8"))))
    scheduler = Scheduler(folder, script)
    namespace = scheduler.hooks()
    namespace["__name__"] = "bank"
    exec(compile(tree, str(file), "exec"), namespace)
    scheduler.run(namespace["model"])
    recorder = scheduler.recorder
    schedule = encode(Schedule("bank.py::model", recorder.schedule_steps(), {}, "abc"))
    if scheduler.failure is not None:
        thread, error = scheduler.failure
        kind = ViolationKind.ASSERTION if isinstance(error, AssertionError) else ViolationKind.EXCEPTION
        message = "" if kind is ViolationKind.ASSERTION else f"{type(error).__name__}: {error}"
        failure = recorder.failure(kind, message, thread, error)
    elif scheduler.blocked:
        failure = recorder.failure(ViolationKind.DEADLOCK, "threads wait for ever", None)
    else:
        return scheduler, None
    return scheduler, explain(recorder.execution(failure), schedule, folder)


def broken(folder: Path, source: str, script: Script) -> Violation:
    _, violation = record(folder, source, script)
    assert violation is not None
    return violation


def shown(violation: Violation) -> list[str]:
    """The steps that matter, in short."""
    return [
        f"{step.thread} {step.operation} {step.target} {step.value}"
        for step in violation.trace
        if step.matters
    ]


def steps(violation: Violation, operation: str) -> list[TraceStep]:
    return [step for step in violation.trace if step.operation == operation]


LOST_UPDATE = """
    class Account:
        def __init__(self, balance):
            self.balance = balance
            self.log = []

        def deposit(self, amount):
            self.log.append(amount)
            balance = self.balance
            self.balance = balance + amount

    def model():
        account = Account(100)
        first = spawn(account.deposit, 20)
        second = spawn(account.deposit, 30)
        join(first)
        join(second)
        assert account.balance == 150
"""
ONE, TWO = "main.0", "main.1"
SPAWNED = [("main", "")]


def lost_update(folder: Path) -> Violation:
    return broken(folder, LOST_UPDATE, [*SPAWNED, (ONE, "store balance"), (TWO, "")])


def test_a_lost_update_shows_the_reads_the_writes_and_the_check(tmp_path: Path):
    violation = lost_update(tmp_path)
    assert shown(violation) == [
        "main.0 load Account#1.balance 100",
        "main.1 load Account#1.balance 100",
        "main.1 store Account#1.balance 130",
        "main.0 store Account#1.balance 120",
        "main load Account#1.balance 120",
    ]
    assert violation.pattern is Pattern.LOST_UPDATE
    assert violation.code is Code.ASSERTION
    assert violation.message == "assertion failed: account.balance == 150"


def test_spans_are_those_of_the_original_expressions(tmp_path: Path):
    violation = lost_update(tmp_path)
    store = next(step for step in steps(violation, "store") if step.thread == ONE)
    assert store.location is not None
    location = store.location
    assert (location.file, location.line, location.column, location.end_line, location.end_column) == (
        "bank.py",
        10,
        9,
        10,
        21,
    )
    assert store.function == "Account.deposit"
    assert store.call_site is None


def test_columns_count_characters_not_bytes(tmp_path: Path):
    source = """
        class Box:
            pass

        def model():
            box = Box()
            box.é = "äöü"; box.ß = box.é
            assert False
    """
    violation = broken(tmp_path, source, [])
    last = steps(violation, "store")[-1]
    assert last.location is not None
    assert (last.location.column, last.location.end_column, last.target) == (20, 25, "Box#1.ß")


def test_entering_a_with_block_stands_at_its_head_not_at_its_body(tmp_path: Path):
    file = tmp_path / "guarded.py"
    file.write_text("def run(guard):\n    with guard:\n        pass\n", encoding="utf-8")
    recorder = Recorder(lambda filename: filename.startswith(str(tmp_path)), tmp_path)
    lock = Lock()
    enter = functools.partial(recorder.step, "main", "acquire", lock, None, True, True)
    kind = type("Guard", (), {"__enter__": staticmethod(enter), "__exit__": staticmethod(lambda *_: None)})
    namespace: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    namespace["run"](kind())
    location = recorder.execution().records[0].location
    assert location is not None
    assert (location.line, location.end_line, location.end_column) == (2, 2, 15)


def test_the_same_schedule_gives_the_same_trace(tmp_path: Path):
    assert lost_update(tmp_path) == lost_update(tmp_path)


def test_a_blind_overwrite_is_no_lost_update(tmp_path: Path):
    source = LOST_UPDATE.replace("self.balance = balance + amount", "self.balance = amount")
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "store balance"), (TWO, "")])
    assert violation.pattern is None


def test_an_augmented_assignment_of_an_item_is_a_lost_update(tmp_path: Path):
    source = """
        def add(totals):
            totals["all"] += 1

        def model():
            totals = {"all": 0}
            first = spawn(add, totals)
            second = spawn(add, totals)
            join(first)
            join(second)
            assert totals["all"] == 2
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "store all"), (TWO, "")])
    assert violation.pattern is Pattern.LOST_UPDATE
    assert shown(violation)[0] == "main.0 load totals['all'] 0"


def test_a_read_in_a_helper_counts_where_the_helper_was_called(tmp_path: Path):
    source = """
        class Counter:
            def __init__(self):
                self.value = 0

            def get(self):
                return self.value

            def set(self, value):
                self.value = value

            def increment(self):
                value = self.get()
                self.set(value + 1)

        def model():
            counter = Counter()
            first = spawn(counter.increment)
            second = spawn(counter.increment)
            join(first)
            join(second)
            assert counter.value == 2
    """
    script = [*SPAWNED, (ONE, "store value"), (TWO, "")]
    assert broken(tmp_path, source, script).pattern is Pattern.LOST_UPDATE


LAZY = """
    class Registry:
        def __init__(self):
            self.made = {}
            self.seen = []

        def get(self):
            if "x" not in self.made:
                self.made["x"] = make()
            self.seen.append(self.made["x"])

    def make():
        return object()

    def model():
        registry = Registry()
        first = spawn(registry.get)
        second = spawn(registry.get)
        join(first)
        join(second)
        assert registry.seen[0] is registry.seen[1]
"""


def test_a_lazy_initialisation_is_check_then_act(tmp_path: Path):
    violation = broken(tmp_path, LAZY, [*SPAWNED, (ONE, "store x"), (TWO, "")])
    assert violation.pattern is Pattern.CHECK_THEN_ACT
    assert "main.0 contains Registry#1.made['x'] False" in shown(violation)
    assert any(step.target == "Registry#1.seen.append()" for step in violation.trace)


def test_popping_what_another_thread_took_is_check_then_act(tmp_path: Path):
    source = """
        def take(items):
            if len(items) > 0:
                items.pop()

        def model():
            items = [1]
            first = spawn(take, items)
            second = spawn(take, items)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "pop"), (TWO, "")])
    assert violation.kind is ViolationKind.EXCEPTION
    assert violation.pattern is Pattern.CHECK_THEN_ACT
    assert shown(violation) == [
        "main.0 length items 1",
        "main.1 length items 1",
        "main.1 call items.pop() 1",
    ]
    assert violation.location is not None
    assert violation.location.line == 4


def test_an_assertion_about_something_else_is_not_check_then_act(tmp_path: Path):
    source = """
        class State:
            def __init__(self):
                self.ready = True
                self.value = 0

        def work(state):
            if state.ready:
                assert state.value == 0

        def stop(state):
            state.ready = False
            state.value = 1

        def model():
            state = State()
            first = spawn(work, state)
            second = spawn(stop, state)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "load value"), (TWO, "")])
    assert violation.pattern is None


def test_two_withdrawals_that_check_both_accounts_are_write_skew(tmp_path: Path):
    source = """
        class Pair:
            def __init__(self):
                self.x = 1
                self.y = 1

        def drop_x(pair):
            if pair.x + pair.y > 1:
                pair.x = 0

        def drop_y(pair):
            if pair.x + pair.y > 1:
                pair.y = 0

        def model():
            pair = Pair()
            first = spawn(drop_x, pair)
            second = spawn(drop_y, pair)
            join(first)
            join(second)
            assert pair.x + pair.y > 0
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "store x"), (TWO, "")])
    assert violation.pattern is Pattern.WRITE_SKEW


DEADLOCK = """
    class Account:
        def __init__(self):
            self.lock = Lock()

    def transfer(source, target):
        source.lock.acquire()
        target.lock.acquire()
        target.lock.release()
        source.lock.release()

    def model():
        a, b = Account(), Account()
        first = spawn(transfer, a, b, name="clerk")
        second = spawn(transfer, b, a)
        join(first)
        join(second)
"""


def test_a_deadlock_names_who_holds_what_and_who_waits(tmp_path: Path):
    violation = broken(tmp_path, DEADLOCK, [*SPAWNED, (ONE, "acquire"), (ONE, "load lock"), (TWO, "")])
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.pattern is Pattern.LOCK_ORDER_INVERSION
    waits = {wait.thread: wait for wait in violation.waiting}
    assert (waits[ONE].target, waits[ONE].held, waits[ONE].waits_for) == (
        "Account#2.lock",
        ("Account#1.lock",),
        TWO,
    )
    assert (waits[TWO].target, waits[TWO].held, waits[TWO].waits_for) == (
        "Account#1.lock",
        ("Account#2.lock",),
        ONE,
    )
    assert (waits["main"].operation, waits["main"].target, waits["main"].waits_for) == ("join", "clerk", ONE)
    assert violation.location is not None
    assert violation.location.line == 8
    assert shown(violation) == [
        "main.0 acquire Account#1.lock None",
        "main.1 acquire Account#2.lock None",
    ]


def test_locks_of_local_variables_and_lists_have_their_names(tmp_path: Path):
    source = """
        def eat(left, right):
            left.acquire()
            right.acquire()
            right.release()
            left.release()

        def model():
            forks = [Lock(), Lock()]
            extra = Lock()
            first = spawn(eat, forks[0], forks[1])
            second = spawn(eat, forks[1], extra)
            third = spawn(eat, extra, forks[0])
            join(first)
            join(second)
            join(third)
    """
    second_fork = [(path, "acquire") for path in (ONE, TWO, "main.2") for _ in range(2)]
    violation = broken(tmp_path, source, SPAWNED + second_fork)
    assert [step.target for step in steps(violation, "acquire")] == ["forks[0]", "forks[1]", "extra"]


def test_a_notification_before_the_wait_is_a_lost_wakeup(tmp_path: Path):
    source = """
        class Flag:
            def __init__(self):
                self.changed = Condition()
                self.ready = False

        def observer(flag):
            if not flag.ready:
                flag.changed.acquire()
                flag.changed.wait()
                flag.changed.release()

        def announce(flag):
            flag.ready = True
            flag.changed.acquire()
            flag.changed.notify()
            flag.changed.release()

        def model():
            flag = Flag()
            first = spawn(observer, flag)
            second = spawn(announce, flag)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "acquire"), (TWO, "")])
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.pattern is Pattern.LOST_WAKEUP
    assert [wait.thread for wait in violation.waiting] == ["main", ONE]
    assert violation.waiting[1].target == "Flag#1.changed"
    assert violation.waiting[1].held == ()


def test_waiting_for_what_was_never_announced_is_no_lost_wakeup(tmp_path: Path):
    source = """
        class Flag:
            def __init__(self):
                self.changed = Condition()
                self.ready = False

        def observer(flag):
            flag.changed.acquire()
            while not flag.ready:
                flag.changed.wait()
            flag.changed.release()

        def announce(flag):
            flag.changed.acquire()
            flag.ready = None
            flag.changed.notify()
            flag.changed.release()

        def model():
            flag = Flag()
            first = spawn(observer, flag)
            second = spawn(announce, flag)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (TWO, "")])
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.pattern is None


def test_what_the_failure_does_not_depend_on_does_not_matter(tmp_path: Path):
    source = """
        class Shop:
            def __init__(self):
                self.lock = Lock()
                self.log_lock = Lock()
                self.sold = 0
                self.log = []
                self.price = 5

        def sell(shop):
            shop.log_lock.acquire()
            shop.log.append(shop.price)
            shop.log_lock.release()
            shop.lock.acquire()
            sold = shop.sold
            shop.lock.release()
            shop.lock.acquire()
            shop.sold = sold + 1
            shop.lock.release()

        def model():
            shop = Shop()
            first = spawn(sell, shop)
            second = spawn(sell, shop)
            join(first)
            join(second)
            assert shop.sold == 2
    """
    stale = [(ONE, "acquire"), (ONE, "acquire"), (ONE, "acquire")]
    violation = broken(tmp_path, source, [*SPAWNED, *stale, (TWO, "")])
    assert violation.pattern is Pattern.LOST_UPDATE
    assert {step.target for step in violation.trace if step.matters} == {"Shop#1.sold", "Shop#1.lock"}
    assert [step.held for step in steps(violation, "load") if step.target == "Shop#1.sold"] == [
        ("Shop#1.lock",),
        ("Shop#1.lock",),
        (),
    ]


def test_an_execution_that_ends_well_has_no_violation(tmp_path: Path):
    scheduler, violation = record(tmp_path, LOST_UPDATE, [*SPAWNED, (ONE, ""), (TWO, "")])
    assert violation is None
    assert scheduler.recorder.schedule_steps()[0].target == "Account#1.balance"


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_recorded_violation_renders_at_every_width(tmp_path: Path, width: int):
    text = render(lost_update(tmp_path), width=width, color=False, root=tmp_path)
    assert max(len(line) for line in text.splitlines()) <= width
