"""Every kind of node in syntax trees is accounted for: a new one fails here until it is known what it reads."""

from __future__ import annotations

import ast

import pytest

from dpor.instrument.transformer import Transformer

# Rewritten by a method of their own, with the fields that it knows.
REWRITTEN = {
    "AnnAssign": "target annotation value simple",
    "Assert": "test msg",
    "Assign": "targets value type_comment",
    "AsyncFor": "target iter body orelse type_comment",
    "AsyncFunctionDef": "name args body decorator_list returns type_comment type_params",
    "AsyncWith": "items body type_comment",
    "Attribute": "value attr ctx",
    "AugAssign": "target op value",
    "Await": "value",
    "BinOp": "left op right",
    "BoolOp": "op values",
    "Call": "func args keywords",
    "ClassDef": "name bases keywords body decorator_list type_params",
    "Compare": "left ops comparators",
    "Delete": "targets",
    "Dict": "keys values",
    "DictComp": "key value generators",
    "Expr": "value",
    "For": "target iter body orelse type_comment",
    "FormattedValue": "value conversion format_spec",
    "FunctionDef": "name args body decorator_list returns type_comment type_params",
    "GeneratorExp": "elt generators",
    "If": "test body orelse",
    "IfExp": "test body orelse",
    "Import": "names",
    "ImportFrom": "module names level",
    "Lambda": "args body",
    "List": "elts ctx",
    "ListComp": "elt generators",
    "Match": "subject cases",
    "Name": "id ctx",
    "NamedExpr": "target value",
    "Raise": "exc cause",
    "Return": "value",
    "Set": "elts ctx",
    "SetComp": "elt generators",
    "Starred": "value ctx",
    "Subscript": "value slice ctx",
    "Try": "body handlers orelse finalbody",
    "TryStar": "body handlers orelse finalbody",
    "TypeAlias": "name type_params value",
    "UnaryOp": "op operand",
    "While": "test body orelse",
    "With": "items body type_comment",
    "Yield": "value",
    "YieldFrom": "value",
}

# Rewritten as part of another node, by the method that is named first.
PARTS = {
    "ExceptHandler": "_handler: type name body",
    "MatchAs": "_tests: pattern name",
    "MatchClass": "_class: cls patterns kwd_attrs kwd_patterns",
    "MatchMapping": "_mapping: keys patterns rest",
    "MatchOr": "_alternatives: patterns",
    "MatchSequence": "_sequence: patterns",
    "MatchSingleton": "_identity: value",
    "MatchStar": "_tests: name",
    "MatchValue": "_equality: value",
    "Slice": "key: lower upper step",
    "alias": "visit_ImportFrom: name asname",
    "arg": "_annotations: arg annotation type_comment",
    "arguments": "_defaults: posonlyargs args vararg kwonlyargs kw_defaults kwarg defaults",
    "comprehension": "_comprehension: target iter ifs is_async",
    "match_case": "_case: pattern guard body",
    "withitem": "visit_With: context_expr optional_vars",
}

# They read nothing themselves; what is in them is rewritten.
PASSED_THROUGH = {
    "Interpolation": "value str conversion format_spec",
    "JoinedStr": "values",
    "Module": "body type_ignores",
    "TemplateStr": "values",
    "Tuple": "elts ctx",
    "keyword": "arg value",
}

# They read nothing, or what they hold is no part of what runs where they stand.
HARMLESS = {
    "Break": "leaves a loop",
    "Constant": "cannot change",
    "Continue": "goes on with a loop",
    "Expression": "is the root of other trees than modules",
    "FunctionType": "is the root of other trees than modules",
    "Global": "says where names are, which the analysis of symbols reads",
    "Interactive": "is the root of other trees than modules",
    "Nonlocal": "says where names are, which the analysis of symbols reads",
    "ParamSpec": "is evaluated when somebody asks for its default",
    "Pass": "does nothing",
    "TypeIgnore": "is a comment",
    "TypeVar": "is evaluated when somebody asks for its bound or default",
    "TypeVarTuple": "is evaluated when somebody asks for its default",
}

# Which operator it is says nothing of what is read, except where `expressions.py` names it.
OPERATORS = {
    ast.boolop: "And Or",
    ast.cmpop: "Eq Gt GtE In Is IsNot Lt LtE NotEq NotIn",
    ast.operator: "Add BitAnd BitOr BitXor Div FloorDiv LShift MatMult Mod Mult Pow RShift Sub",
    ast.unaryop: "Invert Not UAdd USub",
    ast.expr_context: "Del Load Store",
}

# Nodes of old versions that `ast` still offers and that no parser makes.
OLD_CONSTANTS = {"Bytes", "Ellipsis", "NameConstant", "Num", "Str", "_ast_Ellipsis"}
GONE = {*OLD_CONSTANTS, "AugLoad", "AugStore", "ExtSlice", "Index", "Param", "Suite", "slice"}


def kinds() -> dict[str, type[ast.AST]]:
    """The classes of nodes that a parser makes, by name: those that stand for no family of others."""
    found: dict[str, type[ast.AST]] = {}
    for name, kind in vars(ast).items():
        if isinstance(kind, type) and issubclass(kind, ast.AST) and name not in GONE:
            others = type.__subclasses__(kind)
            if all(other.__name__ in GONE for other in others):
                found[name] = kind
    return found


KINDS = kinds()
ACCOUNTED = {**REWRITTEN, **PARTS, **PASSED_THROUGH, **HARMLESS}
OPERATOR_NAMES = {name for names in OPERATORS.values() for name in names.split()}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_node_is_accounted_for(name: str) -> None:
    if name in OPERATOR_NAMES:
        assert any(issubclass(KINDS[name], family) and name in names for family, names in OPERATORS.items())
        return
    assert name in ACCOUNTED
    if name not in HARMLESS:
        known = ACCOUNTED[name].partition(": ")[2] or ACCOUNTED[name]
        assert set(KINDS[name]._fields) <= set(known.split())


def test_each_kind_of_node_is_accounted_for_once() -> None:
    assert len(ACCOUNTED) == len(REWRITTEN) + len(PARTS) + len(PASSED_THROUGH) + len(HARMLESS)


def test_what_is_rewritten_has_a_method_and_nothing_else_has() -> None:
    methods = {name.removeprefix("visit_") for name in dir(Transformer) if name.startswith("visit_")}
    assert methods - {"Constant"} == set(REWRITTEN)
    for treatment in PARTS.values():
        assert hasattr(Transformer, treatment.partition(": ")[0])
