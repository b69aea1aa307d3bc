"""A small scripted scheduler that stands in for the kernel, to record ordinary source.

It rewrites attribute, item and container accesses into hooks whose frames
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

from dpor.counterexample.explain import explain
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.schedule import Schedule, encode
from dpor.results import TraceStep, Violation, ViolationKind

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


Lock.__module__ = "_thread"


class Condition(Lock):
    """A condition that is its own lock."""


Condition.__module__ = "threading"


Script = Sequence[tuple[str, str]]


class Thread:
    def __init__(self, function: Callable[[], object], name: str | None) -> None:
        self._name = name
        self.function = function


Thread.__module__ = "threading"


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
