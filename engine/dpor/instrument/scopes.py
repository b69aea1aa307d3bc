"""Symbol analysis: which variables of a module can be shared between threads.

A module global is shared if a function declares it `global` and binds it (or the caller says that it is rebound). A
function's variable is shared if an inner function that may run later reads it and it is bound more than once, or
bound only after that inner function exists.
"""

from __future__ import annotations

import ast

from dpor.instrument.symbols import (
    DEFERRING,
    IMMEDIATE_CONSUMERS,
    Position,
    Scope,
    ScopeKind,
    Symbols,
    Use,
    starts_late,
)

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef


def analyze(
    tree: ast.Module,
    rebound: frozenset[str] = frozenset(),
    local: frozenset[str] = frozenset(),
) -> Symbols:
    """Analyze a module.

    `rebound` names globals that something outside the module's own functions rebinds. What stands in a function or a
    class has `local` variables outside of its own functions.
    """
    walk = _Walk(tree)
    walk.visit(tree)
    symbols = Symbols(
        walk.module,
        walk.scopes,
        walk.type_parameter_scopes,
        rebound | walk.shared,
        walk.star_import,
        local,
    )
    scopes = [*walk.scopes.values(), *walk.type_parameter_scopes.values()]
    for scope in scopes:
        if scope.consumer and scope.parent and symbols.is_builtin(scope.parent, scope.consumer):
            scope.kind = ScopeKind.COMPREHENSION
    for scope in scopes:
        for name in scope.nonlocal_bindings:
            owner = symbols.owner(scope, name)
            if name in owner.variables:
                owner.variables[name].rebinding = True
                _record_use(symbols, scope, Use(name, frozen=False))
        for use in scope.uses:
            _record_use(symbols, scope, use)
    for scope in scopes:
        if (
            scope.kind in (ScopeKind.MODULE, ScopeKind.CLASS, ScopeKind.TYPE_PARAMETERS)
            or not scope.convertible
        ):
            continue
        for variable in scope.variables.values():
            bound_again = variable.sites > 1 or variable.rebinding
            captured = variable.first_capture is not None and not variable.frozen
            variable.cell = captured and (bound_again or starts_late(scope, variable))
    return symbols


def _record_use(symbols: Symbols, scope: Scope, use: Use) -> None:
    """Note that a function reads, or binds, a variable of another one."""
    owner = symbols.owner(scope, use.name)
    variable = owner.variables.get(use.name)
    if variable is None or owner is symbols.module:
        return
    variable.frozen = variable.frozen or use.frozen
    capture: Scope | None = None
    current: Scope | None = scope
    while current is not None and current is not owner:
        if current.kind in DEFERRING:
            capture = current
        current = current.parent
    if capture is not None:
        position = (getattr(capture.node, "lineno", 0), getattr(capture.node, "col_offset", 0))
        variable.first_capture = min(variable.first_capture or position, position)


class _Walk(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(ScopeKind.MODULE, tree, None, None)
        self.scopes: dict[ast.AST, Scope] = {tree: self.module}
        self.type_parameter_scopes: dict[ast.AST, Scope] = {}
        self.shared: frozenset[str] = frozenset()
        self.star_import = False
        self._scope = self.module
        self._loops = 0
        self._frozen = False
        self._position: Position | None = None

    def _bind(
        self, name: str, node: ast.AST, rebinding: bool = False, definition: ast.stmt | None = None
    ) -> None:
        scope = self._scope
        name = scope.mangle(name)
        position = self._position or (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        if name in scope.globals:
            if scope is not self.module:
                self.shared |= {name}
                return
        elif name in scope.nonlocals:
            scope.nonlocal_bindings.add(name)
            return
        scope.variable(name).bind(position, rebinding or self._loops > 0, definition)

    def _use(self, name: str) -> None:
        self._scope.uses.append(Use(self._scope.mangle(name), self._frozen))

    def _inside(self, scope: Scope, nodes: list[ast.AST]) -> None:
        outer = (self._scope, self._loops, self._position)
        self._scope, self._loops, self._position = scope, 0, None
        for node in nodes:
            self.visit(node)
        self._scope, self._loops, self._position = outer

    def _visit_frozen(self, *nodes: ast.AST | None) -> None:
        outer, self._frozen = self._frozen, True
        for node in nodes:
            if node is not None:
                self.visit(node)
        self._frozen = outer

    def _visit_all(self, *nodes: ast.AST | None) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._use(node.id)
        else:
            self._bind(node.id, node, rebinding=isinstance(node.ctx, ast.Del))

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> None:
        self._scope.yields = True
        self.generic_visit(node)

    visit_YieldFrom = visit_Yield

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.globals.update(map(self._scope.mangle, node.names))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocals.update(map(self._scope.mangle, node.names))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        self._targets(node, *node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_frozen(node.annotation)
        self._visit_all(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self._targets(node, node.target)
        else:
            self._scope.variable(self._scope.mangle(node.target.id))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._bind(node.target.id, node, rebinding=True)
            self._use(node.target.id)
        else:
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope, loops = self._scope, self._loops
        while self._scope.kind in (ScopeKind.COMPREHENSION, ScopeKind.GENERATOR) and self._scope.parent:
            self._scope.convertible = False
            self._scope, self._loops = self._scope.parent, 1
        self._targets(node, node.target)
        inner = scope
        while inner is not self._scope and inner.parent:
            inner.uses.append(Use(inner.mangle(node.target.id), False))
            inner = inner.parent
        self._scope, self._loops = scope, loops

    def _targets(self, node: ast.stmt | ast.expr, *targets: ast.expr) -> None:
        outer = self._position
        self._position = (node.end_lineno or 0, node.end_col_offset or 0)
        self._visit_all(*targets)
        self._position = outer

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self._loops += 1
        self._visit_all(node.target, *node.body)
        self._loops -= 1
        self._visit_all(*node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self._loops += 1
        self._visit_all(node.test, *node.body)
        self._loops -= 1
        self._visit_all(*node.orelse)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._visit_all(node.type)
        if node.name:
            self._bind(node.name, node, rebinding=True)
        self._visit_all(*node.body)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0], node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.star_import = True
            else:
                self._bind(alias.asname or alias.name, node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._visit_all(node.pattern)
        if node.name:
            self._bind(node.name, node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._visit_all(*node.keys, *node.patterns)
        if node.rest:
            self._bind(node.rest, node)

    def visit_FunctionDef(self, node: Function) -> None:
        arguments = node.args
        self._visit_all(*node.decorator_list, *arguments.defaults, *arguments.kw_defaults)
        self._bind(node.name, node, definition=node)
        outer = self._open_type_parameters(node)
        annotations = [argument.annotation for argument in parameters(arguments)]
        self._visit_frozen(*annotations, node.returns)
        self._function(ScopeKind.FUNCTION, node, arguments, [*node.body])
        self._scope = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_all(*node.args.defaults, *node.args.kw_defaults)
        self._function(ScopeKind.LAMBDA, node, node.args, [node.body])

    def _function(
        self, kind: ScopeKind, node: ast.AST, arguments: ast.arguments, body: list[ast.AST]
    ) -> None:
        scope = Scope(kind, node, self._scope, self._scope.class_name)
        self.scopes[node] = scope
        for argument in parameters(arguments):
            variable = scope.variable(scope.mangle(argument.arg))
            variable.parameter = True
            variable.bind((0, 0), rebinding=False)
        self._inside(scope, body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(*node.decorator_list)
        self._bind(node.name, node, definition=node)
        outer = self._open_type_parameters(node)
        self._visit_all(*node.bases, *node.keywords)
        scope = Scope(ScopeKind.CLASS, node, self._scope, node.name)
        self.scopes[node] = scope
        self._inside(scope, [*node.body])
        self._scope = outer

    def _open_type_parameters(self, node: Function | ast.ClassDef) -> Scope:
        outer = self._scope
        parameters: list[ast.AST] = getattr(node, "type_params", [])
        if parameters:
            self._scope = Scope(ScopeKind.TYPE_PARAMETERS, node, outer, outer.class_name)
            self.type_parameter_scopes[node] = self._scope
            self._type_parameters(parameters)
        return outer

    def _type_parameters(self, parameters: list[ast.AST]) -> None:
        for parameter in parameters:
            name: str = getattr(parameter, "name", "")
            self._scope.variable(self._scope.mangle(name)).bind((0, 0), rebinding=False)
            self._visit_frozen(getattr(parameter, "bound", None), getattr(parameter, "default_value", None))

    def visit_TypeAlias(self, node: ast.AST) -> None:
        name: ast.AST = getattr(node, "name")  # noqa: B009 - the node class is new in Python 3.12
        self._visit_frozen(name, ast.Name(getattr(name, "id", ""), ast.Load()))
        outer = self._scope
        self._scope = Scope(ScopeKind.TYPE_PARAMETERS, node, outer, outer.class_name)
        self.type_parameter_scopes[node] = self._scope
        self._type_parameters(getattr(node, "type_params", []))
        self._visit_frozen(getattr(node, "value", None))
        self._scope = outer

    def _comprehension(self, node: Comprehension) -> None:
        immediate = not isinstance(node, ast.GeneratorExp)
        scope = Scope(
            ScopeKind.COMPREHENSION if immediate else ScopeKind.GENERATOR,
            node,
            self._scope,
            self._scope.class_name,
        )
        self.scopes[node] = scope
        scope.convertible = not any(_ties_to_frame(child) for child in ast.walk(node))
        self.visit(node.generators[0].iter)
        outer = (self._scope, self._loops, self._position)
        self._scope, self._loops, self._position = scope, 1, None
        for index, generator in enumerate(node.generators):
            self._visit_all(generator.iter if index else None, generator.target, *generator.ifs)
        if isinstance(node, ast.DictComp):
            self._visit_all(node.key, node.value)
        else:
            self.visit(node.elt)
        self._scope, self._loops, self._position = outer

    visit_ListComp = _comprehension
    visit_SetComp = _comprehension
    visit_DictComp = _comprehension
    visit_GeneratorExp = _comprehension

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            scope = self.scopes[node.args[0]]
            if isinstance(node.func, ast.Name) and node.func.id in IMMEDIATE_CONSUMERS:
                scope.consumer = node.func.id


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, in no particular order."""
    extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def _ties_to_frame(node: ast.AST) -> bool:
    """True for what would change its meaning if the comprehension around it moved into a function of its own."""
    if isinstance(node, ast.comprehension):
        return bool(node.is_async)
    return isinstance(node, ast.Await | ast.NamedExpr) or (isinstance(node, ast.Name) and node.id == "super")
