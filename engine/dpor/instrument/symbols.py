"""Scopes and variables of a module, and how each name in it must be accessed."""

from __future__ import annotations

import ast
import builtins
import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

Position = tuple[int, int]


class ScopeKind(enum.Enum):
    """What opens a scope. A GENERATOR runs later than where it stands, a COMPREHENSION at once."""

    MODULE = enum.auto()
    CLASS = enum.auto()
    FUNCTION = enum.auto()
    LAMBDA = enum.auto()
    COMPREHENSION = enum.auto()
    GENERATOR = enum.auto()
    TYPE_PARAMETERS = enum.auto()


class Access(enum.Enum):
    """How a name is read and written: directly, as a shared global, or through a cell."""

    PLAIN = enum.auto()
    GLOBAL = enum.auto()
    CELL = enum.auto()


DEFERRING = frozenset({ScopeKind.FUNCTION, ScopeKind.LAMBDA, ScopeKind.GENERATOR})
IMMEDIATE_CONSUMERS = frozenset(
    {"all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"}
)


@dataclass(eq=False)
class Variable:
    """What is known of one name of one scope.

    `sites` counts its binding sites, `rebinding` says that one of them can run twice or changes the value;
    `last_binding` and `first_capture` are source positions; `frozen` says that code which cannot be rewritten
    (an annotation) reads it, so that it cannot become a cell.
    """

    sites: int = 0
    parameter: bool = False
    rebinding: bool = False
    frozen: bool = False
    definition: ast.stmt | None = None
    last_binding: Position = (0, 0)
    first_capture: Position | None = None
    cell: bool = False

    def bind(self, position: Position, rebinding: bool, definition: ast.stmt | None = None) -> None:
        """Count one more binding site, at `position`."""
        self.sites += 1
        self.rebinding = self.rebinding or rebinding
        self.definition = definition
        self.last_binding = max(self.last_binding, position)


@dataclass(eq=False)
class Use:
    """A name read in a scope; `frozen` if the reading code cannot be rewritten."""

    name: str
    frozen: bool


@dataclass(eq=False)
class Scope:
    """One scope with the names bound in it; `class_name` is the class that mangles private names in it, and `yields`
    says that its own code does.
    """

    kind: ScopeKind
    node: ast.AST
    parent: Scope | None
    class_name: str | None
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    globals: set[str] = field(default_factory=set[str])
    nonlocals: set[str] = field(default_factory=set[str])
    nonlocal_bindings: set[str] = field(default_factory=set[str])
    uses: list[Use] = field(default_factory=list[Use])
    consumer: str | None = None
    convertible: bool = True
    yields: bool = False

    def variable(self, name: str) -> Variable:
        """The variable of this name, made if it is new."""
        return self.variables.setdefault(name, Variable())

    def mangle(self, name: str) -> str:
        """`name` as the compiler sees it here: `__x` in class C is `_C__x`."""
        owner = (self.class_name or "").lstrip("_")
        if not owner or not name.startswith("__") or name.endswith("__") or "." in name:
            return name
        return f"_{owner}{name}"


class Symbols:
    """The finished analysis of one module.

    `scopes` maps each function, lambda, class, comprehension and the module node to its scope,
    `type_parameter_scopes` each generic class or function to the scope of its type parameters. `shared` holds the
    module's globals that are rebound while the program runs; `local` are variables that are none outside of
    functions, where the text stands in a function or a class.
    """

    def __init__(
        self,
        module: Scope,
        scopes: dict[ast.AST, Scope],
        type_parameter_scopes: dict[ast.AST, Scope],
        shared: frozenset[str],
        star_import: bool,
        local: frozenset[str],
    ) -> None:
        self.module = module
        self.scopes = scopes
        self.type_parameter_scopes = type_parameter_scopes
        self.shared = shared
        self._star_import = star_import
        self._local = local
        self._accesses: dict[tuple[Scope, str], Access] = {}

    def owner(self, scope: Scope, name: str) -> Scope:
        """The scope that holds `name` (mangled) when code in `scope` mentions it; the module's for globals and
        built-ins. `__class__` inside a function of a class is that class's, whatever the module has under that name.
        """
        if name in scope.variables and name not in scope.globals and name not in scope.nonlocals:
            return scope
        current: Scope | None = scope
        while current is not None and current is not self.module:
            if name in current.globals:
                return self.module
            visible = current is not scope and current.kind is not ScopeKind.CLASS
            if visible and name in current.variables and name not in current.nonlocals:
                return current
            if name == "__class__" and current is not scope and current.kind is ScopeKind.CLASS:
                return current
            current = current.parent
        return self.module

    def access(self, scope: Scope, name: str) -> Access:
        """How code in `scope` must read and write `name` (mangled)."""
        key = (scope, name)
        known = self._accesses.get(key)
        if known is None:
            owner = self.owner(scope, name)
            known = Access.PLAIN
            if owner is self.module:
                is_local = scope is self.module and name in self._local
                known = Access.GLOBAL if name in self.shared and not is_local else Access.PLAIN
            elif name in owner.variables and owner.variables[name].cell:
                known = Access.CELL
            self._accesses[key] = known
        return known

    def is_fixed_function(self, scope: Scope, name: str) -> bool:
        """True if `name` stands for a function that one undecorated `def` binds and nothing rebinds."""
        owner = self.owner(scope, name)
        variable = owner.variables.get(name)
        if variable is None or owner.kind is ScopeKind.CLASS or name in self.shared or variable.cell:
            return False
        definition = variable.definition
        is_function = isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
        return is_function and variable.sites == 1 and not definition.decorator_list

    def is_builtin(self, scope: Scope, name: str) -> bool:
        """True if `name` stands for the built-in of that name and nothing in the module hides it."""
        return (
            hasattr(builtins, name)
            and not self._star_import
            and name not in self.module.variables
            and name not in self.shared
            and self.owner(scope, name) is self.module
        )

    def cells(self, scope: Scope) -> list[str]:
        """The names that `scope` must hold in cells, parameters first, in order of appearance."""
        names = [name for name, variable in scope.variables.items() if variable.cell]
        return sorted(names, key=lambda name: not scope.variables[name].parameter)


def starts_late(owner: Scope, variable: Variable) -> bool:
    """True if `variable`, though bound once, is bound after an inner function could already be reading it."""
    if (
        variable.parameter
        or variable.first_capture is None
        or variable.first_capture >= variable.last_binding
    ):
        return False
    return not _only_definitions_between(owner, variable.first_capture, variable.definition)


def _only_definitions_between(owner: Scope, start: Position, definition: ast.stmt | None) -> bool:
    body: Sequence[ast.AST] = getattr(owner.node, "body", ()) if isinstance(owner.node, ast.stmt) else ()
    if definition is None or definition not in body:
        return False
    between = [
        statement
        for statement in body[: body.index(definition) + 1]
        if isinstance(statement, ast.stmt) and (statement.end_lineno, statement.end_col_offset) >= start
    ]
    return all(
        isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and not statement.decorator_list
        for statement in between
    )
