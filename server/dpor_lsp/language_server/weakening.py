"""What in a file weakens the checks of its models, found by reading it: nothing is run.

A use counts if a model can come to it: it stands in the model's function, or in a function or class of the same file
that is named there, and so on. Code in other files is not looked at. What a name means is told from the file's imports;
a name that is bound to anything else as well is left alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dpor.codes import Code
from dpor.lines import split_lines
from dpor.results import SourceSpan

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FILES = "changes files, which are no state of the model: this is not interleaved, and outlives an execution"
_MEMORY = "is memory that a check does not follow: what threads do to it is not interleaved"
_NATIVE = "runs code in C, which cannot be looked into: each call is one step, and what it shares is not seen"
_CODE = "runs code from a string, which nothing can watch"
_SIGNALS = "belongs to signals, which are no part of any schedule: when a handler runs is not explored"
_NUMBERS = "gives the same numbers in every execution: no others are tried, as dpor.choose would"
_ENVIRONMENT = "changes the environment, which is no state of the model and outlives an execution"

_ENDING: tuple[tuple[str, str], ...] = (
    ("subprocess.[a-zP]*", "starts a process"),
    ("os.system", "starts a process"),
    ("os.popen", "starts a process"),
    ("os.fork*", "forks the process"),
    ("os.posix_spawn*", "starts a process"),
    ("os.spawn*", "starts a process"),
    ("os.exec*", "replaces the process"),
    ("os.wait*", "waits for a process"),
    ("pty.spawn", "starts a process"),
    *(
        (f"multiprocessing.{name}", "makes a lock between processes")
        for name in (
            *("Lock", "RLock", "Semaphore", "BoundedSemaphore", "Condition", "Event", "Barrier"),
            *("Queue", "SimpleQueue", "JoinableQueue", "Value", "Array", "Pool", "Manager"),
            *("pool.Pool", "pool.ThreadPool", "dummy.Pool"),
        )
    ),
    ("multiprocessing.Process", "starts a process"),
    ("concurrent.futures.ProcessPoolExecutor", "starts processes"),
    ("input", "waits for input"),
    ("exec", _CODE),
    ("signal.pause", "waits for a signal"),
    ("signal.sig*wait*", "waits for a signal"),
    ("select.[a-z]*", "waits for files or sockets"),
    ("socket.create_*", "uses the network"),
    ("socket.get*by*", "uses the network"),
    ("socket.getaddrinfo", "uses the network"),
    ("socket.socketpair", "opens a pair of sockets"),
    ("urllib.request.url*", "uses the network"),
    ("asyncio.open_*connection", "uses the network"),
    ("asyncio.start_*server", "uses the network"),
    ("asyncio.create_subprocess_*", "starts a process"),
)
"""What a check ends at with DPOR108: patterns of dotted names, and what such a thing does."""

_UNSEEN: tuple[tuple[str, str], ...] = (
    ("ctypes.*DLL*", _NATIVE),
    ("ctypes.*dll*", _NATIVE),
    ("ctypes.*FUNCTYPE", _NATIVE),
    ("ctypes.*", _MEMORY),
    ("multiprocessing.shared_memory.*", _MEMORY),
    ("multiprocessing.Raw*", _MEMORY),
    ("signal.signal", _SIGNALS),
    ("signal.alarm", _SIGNALS),
    ("signal.setitimer", _SIGNALS),
    ("signal.raise_signal", _SIGNALS),
    ("os.kill", _SIGNALS),
    ("os.putenv", _ENVIRONMENT),
    ("os.unsetenv", _ENVIRONMENT),
    *(
        (f"os.{name}", _FILES)
        for name in (
            *("remove", "unlink", "rename", "renames", "replace", "mkdir", "makedirs", "rmdir", "removedirs"),
            *("link", "symlink", "truncate", "open", "mkfifo"),
        )
    ),
    ("shutil.*", _FILES),
    ("tempfile.*", _FILES),
    ("random.[a-zR]*", _NUMBERS),
    ("secrets.[a-z]*", _NUMBERS),
    ("uuid.uuid[14]", _NUMBERS),
    ("os.urandom", _NUMBERS),
)
"""What a check passes over without a word: patterns of dotted names, and why the check is weaker for it."""

_PATTERNS = (
    *((pattern, Code.UNCONTROLLED, what) for pattern, what in _ENDING),
    *((pattern, Code.WEAKENED, what) for pattern, what in _UNSEEN),
)
_HARMLESS = frozenset({"random.seed", "subprocess.list2cmdline", "subprocess.subprocess"})
_BUILTINS = frozenset({"exec", "input", "open"})
_PATH_WRITES = frozenset({"write_text", "write_bytes"})
_ENVIRONMENT_WRITES = frozenset({"update", "setdefault", "pop", "popitem", "clear"})
_WRITING = frozenset("wax+")
_NOT_LOOKED_INTO_ANYWAY = frozenset({"dpor", "dpor_lsp", "pytest", "hypothesis", "typing_extensions"})


@dataclass(frozen=True)
class Weakness:
    """A use that weakens a check: what of, where, in which way, and in which models."""

    name: str
    span: SourceSpan
    code: Code
    what: str
    models: tuple[str, ...]

    @property
    def message(self) -> str:
        """The hint in words."""
        few = ", ".join(self.models[:3]) + (
            f" and {len(self.models) - 3} more" if len(self.models) > 3 else ""
        )
        if self.code is Code.UNCONTROLLED:
            return (
                f"{few}: {self.name} {self.what}, which no schedule controls: a check that comes here ends with "
                f"{self.code.value}\nkeep it out of the model, or replace it with a stand-in"
            )
        return f"{few}: {self.name} {self.what}"


class Reading:
    """A parsed file as its models can come to its parts; `file` is its name in spans, `text` what was parsed."""

    def __init__(self, tree: ast.Module, file: str, text: str) -> None:
        self._file = file
        self._lines = split_lines(text)
        self._imports = dict(_imports(tree))
        self._definitions: dict[str, _Definition] = {}
        bound: set[str] = set()
        for node in _at_module_level(tree.body):
            if isinstance(node, _Definition):
                self._definitions[node.name] = node
                bound.add(node.name)
            else:
                bound |= _bound(node)
        self._bound = frozenset(bound)

    def reached(self, function: ast.AST) -> list[ast.AST]:
        """The definitions that code in `function` can come to, itself first."""
        found: dict[ast.AST, None] = {}
        waiting = [function]
        while waiting:
            node = waiting.pop()
            if node in found:
                continue
            found[node] = None
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and inner.id in self._definitions:
                    waiting.append(self._definitions[inner.id])
        return list(found)

    def enclosing(self, function: ast.AST) -> ast.AST:
        """The class at module level that has a function as its method, else the function."""
        for node in self._definitions.values():
            if isinstance(node, ast.ClassDef) and function in node.body:
                return node
        return function

    def packages(self, definitions: Iterable[ast.AST]) -> set[str]:
        """The packages, by the first part of their names, that are named in definitions and may be anybody's."""
        found: set[str] = set()
        for definition in definitions:
            hidden = self._bound | _bound(definition)
            for node in ast.walk(definition):
                if isinstance(node, ast.Name) and node.id in self._imports and node.id not in hidden:
                    found.add(self._imports[node.id].partition(".")[0])
        return {
            name
            for name in found
            if name not in sys.stdlib_module_names and name not in _NOT_LOOKED_INTO_ANYWAY
        }

    def uses(self, definition: ast.AST) -> Iterator[tuple[ast.expr, str, Code, str]]:
        """What weakens a check in a definition: the expression, its name, the code and the reason, each once."""
        hidden = self._bound | _bound(definition)
        seen: set[str] = set()
        for node in ast.walk(definition):
            for expression, name, code, what in self._of_node(node, hidden):
                if what not in seen:
                    seen.add(what)
                    yield expression, name, code, what

    def _of_node(
        self, node: ast.AST, hidden: frozenset[str] | set[str]
    ) -> Iterator[tuple[ast.expr, str, Code, str]]:
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            name = self._dotted(node, hidden)
            match = None if name is None else _match(name)
            if name is not None and match is not None:
                yield (node, name, *match)
        if isinstance(node, ast.Call):
            yield from self._of_call(node, hidden)
        elif (
            isinstance(node, ast.Subscript)
            and not isinstance(node.ctx, ast.Load)
            and self._dotted(node.value, hidden) == "os.environ"
        ):
            yield node, "os.environ", Code.WEAKENED, _ENVIRONMENT

    def _of_call(
        self, node: ast.Call, hidden: frozenset[str] | set[str]
    ) -> Iterator[tuple[ast.expr, str, Code, str]]:
        function = node.func
        if self._dotted(function, hidden) in ("open", "io.open") and _writes(node):
            yield function, "open", Code.WEAKENED, _FILES
        if isinstance(function, ast.Attribute):
            if function.attr in _PATH_WRITES:
                yield function, function.attr, Code.WEAKENED, _FILES
            of_environment = self._dotted(function.value, hidden) == "os.environ"
            if function.attr in _ENVIRONMENT_WRITES and of_environment:
                yield function, f"os.environ.{function.attr}", Code.WEAKENED, _ENVIRONMENT

    def _dotted(self, node: ast.expr, hidden: frozenset[str] | set[str]) -> str | None:
        """The full name of what an expression refers to, if that is something imported or built in."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in hidden:
            return None
        origin = self._imports.get(node.id)
        if origin is None:
            origin = node.id if node.id in _BUILTINS and not parts else None
        return None if origin is None else ".".join([origin, *reversed(parts)])

    def span(self, node: ast.expr) -> SourceSpan:
        """Where an expression is."""
        return SourceSpan(
            self._file,
            node.lineno,
            self._column(node.lineno, node.col_offset),
            node.end_lineno,
            None
            if node.end_lineno is None or node.end_col_offset is None
            else self._column(node.end_lineno, node.end_col_offset),
        )

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode()[:offset].decode(errors="replace")) + 1


def weaknesses(reading: Reading, models: Mapping[str, ast.AST]) -> tuple[Weakness, ...]:
    """Everything in a file that weakens a check of one of the models (their functions by their names), in its order."""
    users: dict[ast.AST, list[str]] = {}
    for name, function in models.items():
        for definition in reading.reached(function):
            users.setdefault(definition, []).append(name)
    found: dict[tuple[SourceSpan, str], Weakness] = {}
    for definition, names in users.items():
        for node, name, code, what in reading.uses(definition):
            span = reading.span(node)
            known = found.get((span, what))
            together = dict.fromkeys([*(known.models if known is not None else ()), *names])
            found[span, what] = Weakness(name, span, code, what, tuple(together))
    return tuple(sorted(found.values(), key=lambda item: (item.span.line, item.span.column)))


def _match(name: str) -> tuple[Code, str] | None:
    if name in _HARMLESS:
        return None
    return next(((code, what) for pattern, code, what in _PATTERNS if fnmatchcase(name, pattern)), None)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` binds `a`.
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _at_module_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _at_module_level(
                item for item in ast.iter_child_nodes(statement) if isinstance(item, ast.stmt)
            )


def _bound(node: ast.AST) -> set[str]:
    """The names that are bound in a node by anything but an import."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            found.add(inner.id)
        elif isinstance(inner, ast.arg):
            found.add(inner.arg)
        elif isinstance(inner, _Definition | ast.ExceptHandler) and inner is not node and inner.name:
            found.add(inner.name)
    return found


def _writes(call: ast.Call) -> bool:
    """Whether a call of `open` may write: its mode says so, or is not known before the code runs."""
    mode = next((item.value for item in call.keywords if item.arg == "mode"), None)
    if mode is None and len(call.args) > 1:
        mode = call.args[1]
    if mode is None:
        return False
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
        return bool(_WRITING & set(mode.value))
    return True
