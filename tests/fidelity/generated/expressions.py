"""Expressions, with operands of any type: what fails is caught by the program."""

from __future__ import annotations

from hypothesis import strategies as st

Text = st.SearchStrategy[str]

NAMES = ("a", "b", "c", "d", "box", "other", "items", "table")

_LITERALS = st.sampled_from(
    (
        *(
            "0",
            "1",
            "-1",
            "2",
            "7",
            "255",
            "10**20",
            "True",
            "False",
            "None",
            "...",
            "1.5",
            "-0.0",
            "2j",
            "1e300",
        ),
        *(
            "''",
            "'x'",
            "'text'",
            "'a b'",
            "'%s'",
            "b'by'",
            "r'\\d'",
            "'é'",
            "()",
            "[]",
            "{}",
            "set()",
            "(1,)",
        ),
    )
)
_SMALL = st.sampled_from(("0", "1", "2", "3"))
INDICES = st.sampled_from(("0", "-1", "1", "5", "'k'", "None", "1:", ":-1", "::2", "::-1", "0:1", "slice(1)"))
ATTRIBUTES = st.sampled_from(
    ("x", "limit", "descriptor", "half", "kept", "nothing", "_private", "extra", "real")
)
BINARY = st.sampled_from(("+", "-", "/", "//", "%", "@", "&", "|", "^", ">>"))
_GROWING = st.sampled_from(("*", "**", "<<"))
_COMPARISONS = st.sampled_from(("<", "<=", "==", "!=", ">", ">=", "in", "not in"))
_FUNCTIONS = st.sampled_from(
    (
        *(
            "len",
            "sum",
            "sorted",
            "list",
            "tuple",
            "set",
            "dict",
            "frozenset",
            "str",
            "repr",
            "ascii",
            "abs",
            "min",
        ),
        *(
            "max",
            "bool",
            "int",
            "float",
            "complex",
            "bytes",
            "any",
            "all",
            "type",
            "callable",
            "ord",
            "chr",
            "hex",
        ),
        *(
            "reversed",
            "iter",
            "next",
            "enumerate",
            "bin",
            "round",
            "hash",
            "vars",
            "Box",
            "Child",
            "Point",
            "box",
        ),
        *("Box.made", "Box.plain", "box.plain", "numbers", "other", "counted(len)", "super", "bytearray"),
    )
)
_TWO = st.sampled_from(
    (
        "divmod",
        "zip",
        "isinstance",
        "issubclass",
        "getattr",
        "hasattr",
        "pow",
        "round",
        "max",
        "min",
        "format",
        "map",
    )
)
_METHODS = st.sampled_from(
    (
        *(
            "append",
            "extend",
            "index",
            "count",
            "remove",
            "pop",
            "insert",
            "get",
            "setdefault",
            "update",
            "add",
        ),
        *(
            "discard",
            "union",
            "difference",
            "split",
            "join",
            "find",
            "startswith",
            "replace",
            "format",
            "encode",
        ),
        *(
            "strip",
            "partition",
            "zfill",
            "upper",
            "keys",
            "values",
            "items",
            "clear",
            "copy",
            "sort",
            "reverse",
        ),
        *("conjugate", "bit_length", "hex", "nothing", "__len__", "__class__", "__eq__", "plain", "made"),
    )
)
_CONVERSIONS = st.sampled_from(("", "!r", "!s", "!a", ":>8", ":x", ":.2f", "!r:^9", ":nothing"))


def join(*parts: str | Text) -> Text:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def _listed(one: Text, most: int = 3) -> Text:
    return st.lists(one, max_size=most).map(", ".join)


def _expressions() -> Text:
    names = st.sampled_from(NAMES)
    inner: Text = st.deferred(lambda: whole)
    starred = st.one_of(inner, join("*", inner))
    clauses = st.one_of(
        join(" for e in ", inner),
        join(" for e in ", inner, " if ", inner),
        join(" for e in ", inner, " for f in (e, ", inner, ")"),
        join(" for e, *f in ", inner),
    )
    elements = st.one_of(inner, st.just("e"), join("(e, ", inner, ")"))
    arguments = st.one_of(
        _listed(starred), join("x=", inner), join("*", inner, ", **", inner), join(inner, ", x=", inner)
    )
    whole = st.one_of(
        _LITERALS,
        names,
        names,
        join("(", inner, " ", BINARY, " ", inner, ")"),
        join("(", inner, " ", _GROWING, " ", _SMALL, ")"),
        join("(", st.sampled_from(("-", "+", "~", "not ")), inner, ")"),
        join("(", inner, " ", _COMPARISONS, " ", inner, ")"),
        join("(", inner, " ", _COMPARISONS, " ", inner, " ", _COMPARISONS, " ", inner, ")"),
        join(
            "(", names, st.sampled_from((" is ", " is not ")), st.sampled_from(("None", "True", *NAMES)), ")"
        ),
        join("(", inner, st.sampled_from((" and ", " or ")), inner, ")"),
        join("(", inner, " if ", inner, " else ", inner, ")"),
        join("(", st.sampled_from(("a", "b", "c")), " := ", inner, ")"),
        join("[", _listed(starred), "]"),
        join("(", _listed(starred), ",)").map(lambda text: text if text != "(,)" else "()"),
        join("{", inner, ", ", starred, "}"),
        join("{", inner, ": ", inner, ", **", inner, "}"),
        join("[", elements, clauses, "]"),
        join("{", elements, clauses, "}"),
        join("{e: ", elements, clauses, "}"),
        join("list(", elements, clauses, ")"),
        join("(lambda p=", inner, ", *q, r=1, **s: (p, q, r, ", inner, "))(", arguments, ")"),
        join(_FUNCTIONS, "(", arguments, ")"),
        join(_TWO, "(", inner, ", ", inner, ")"),
        join("map(", st.sampled_from(("str", "Box", "lambda e: (e, e)", "box")), ", ", inner, ")"),
        join("filter(None, ", inner, ")"),
        join(names, ".", _METHODS, "(", arguments, ")"),
        join("(", inner, ").", _METHODS, "(", arguments, ")"),
        join(names, "[", INDICES, "]"),
        join("(", inner, ")[", inner, "]"),
        join(names, ".", ATTRIBUTES),
        join('f"{', names, _CONVERSIONS, "} {", names, '=}"'),
    )
    return whole


EXPRESSIONS = _expressions()
