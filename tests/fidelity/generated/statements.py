"""Statements, and programs of them.

A program is the body of a function that shows values with `show`. What can fail is in a `try` that shows the exception,
so that an operand of any type will do. Loops are bounded, and what would grow without bounds has a small operand.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from fidelity.generated.expressions import ATTRIBUTES, BINARY, EXPRESSIONS, INDICES, NAMES, join

SETTING = (
    "a, b, c, d = 3, 'text', (1, 2.5, None), {1, 2}",
    "box, other = Box(), Child()",
    "items, table = [3, 1, 2], {'k': 1, 2: 'two'}",
)


_TARGETS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(("a, b", "a, *b", "[a, (b, c)]", "*a, b = c", "a = b")),
    join(st.sampled_from(NAMES), "[", INDICES, "]"),
    join(st.sampled_from(NAMES), ".", ATTRIBUTES),
)
_PATTERNS = st.one_of(
    st.sampled_from(
        (
            *(
                "0",
                "'text'",
                "None",
                "True",
                "-1",
                "1.5",
                "[]",
                "[x, y]",
                "[x, *_]",
                "(3, *rest)",
                "{'k': v}",
            ),
            *(
                "{2: v, **rest}",
                "{}",
                "Box(x=1)",
                "Box(x=[p, q])",
                "Point(0, y)",
                "Point(x=x)",
                "int(n)",
                "str()",
            ),
            *(
                "int() | str() as v",
                "[int(), str() | None as t]",
                "(1 | 2) as n",
                "Child()",
                "set()",
                "tuple((x, *_))",
            ),
        )
    )
)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def _statement(draw: st.DrawFn, depth: int) -> list[str]:
    """The lines of one statement; `depth` is how deep blocks may still be nested in it."""
    expression = draw(EXPRESSIONS)
    name = draw(st.sampled_from(NAMES))
    simple = draw(st.integers(0, 10 if depth else 7))
    if simple <= 1:
        return [f"show({expression})"]
    if simple == 2:
        return [f"{draw(_TARGETS)} = {expression}"]
    if simple == 3:
        operator = draw(st.one_of(BINARY, st.just("+")))
        target = draw(st.one_of(st.just(name), join(name, "[", INDICES, "]"), join(name, ".", ATTRIBUTES)))
        return [f"{target} {operator}= {expression}"]
    if simple == 4:
        return [f"del {draw(st.one_of(join(name, '[', INDICES, ']'), join(name, '.', ATTRIBUTES)))}"]
    if simple == 5:
        return [f"assert {expression}, {draw(EXPRESSIONS)}"]
    if simple == 6:
        return [f"raise {draw(st.sampled_from(('ValueError', 'KeyError', 'StopIteration')))}({expression})"]
    if simple == 7:
        return [expression]
    return draw(_compound(depth, expression, name))


@st.composite
def _compound(draw: st.DrawFn, depth: int, expression: str, name: str) -> list[str]:
    def block() -> list[str]:
        return _indented(draw(_block(depth - 1)))

    kind = draw(st.integers(0, 12))
    match kind:
        case 0:
            return [f"if {expression}:", *block(), f"elif {draw(EXPRESSIONS)}:", *block(), "else:", *block()]
        case 1:
            leave = draw(st.sampled_from(("break", "continue", "pass")))
            head = [
                f"for index, {name} in zip(range(3), {expression}):",
                f"    if {draw(EXPRESSIONS)}: {leave}",
            ]
            return [*head, *block(), "else:", *block()]
        case 2:
            return [
                "turns = 0",
                f"while turns < 3 and {expression}:",
                "    turns += 1",
                *block(),
                "else:",
                *block(),
            ]
        case 3:
            caught = draw(
                st.sampled_from(("TypeError", "(KeyError, ValueError)", "Exception", "ZeroDivisionError"))
            )
            middle = [f"except {caught} as error:", "    show(type(error).__name__)", *block()]
            return ["try:", *block(), *middle, "else:", *block(), "finally:", *block()]
        case 4:
            swallows = draw(st.sampled_from(("True", "False")))
            return [f"with Manager({swallows}) as entered, Manager(entered):", *block()]
        case 5:
            cases: list[str] = []
            for _ in range(draw(st.integers(1, 3))):
                guard = draw(st.one_of(st.just(""), EXPRESSIONS.map(lambda text: f" if {text}")))
                cases += [f"case {draw(_PATTERNS)}{guard}:", *block()]
            return [f"match {expression}:", *_indented([*cases, "case _:", "    show('no case')"])]
        case 6:
            head = [
                f"def made(p={expression}, /, q=1, *r, s=2, **t):",
                "    nonlocal a, box",
                "    show((p, q, r, s, t))",
            ]
            return [
                *head,
                *block(),
                f"    return {draw(EXPRESSIONS)}",
                f"show(made({draw(EXPRESSIONS)}, s=3))",
            ]
        case 7:
            head = [
                "def steps():",
                f"    got = yield {expression}",
                "    show(got)",
                f"    yield from {draw(EXPRESSIONS)}",
            ]
            return [*head, *block(), "    return 'done'", "stepping = steps()", *_advanced("stepping")]
        case 8:
            base = draw(st.sampled_from(("Box", "Child", "object", "dict", "list", "Exception", "Point")))
            body = [f"    kept = {expression}", f"    def __repr__(self): return 'Made({name})'", *block()]
            return [f"class Made({base}):", *body, "show(Made())", f"show(Made.kept == {name})"]
        case 9:
            return [
                f"raise ValueError({expression}) from {draw(st.sampled_from(('None', 'KeyError(1)', 'box')))}"
            ]
        case 10:
            head = ["async def task():", f"    show({expression})"]
            return [*head, *block(), f"    return {name}", "running = task()", *_advanced("running")]
        case 11:
            middle = ["except* ValueError as group:", "    show([str(one) for one in group.exceptions])"]
            return [
                "try:",
                f"    raise ExceptionGroup('g', [ValueError({expression}), KeyError(1)])",
                *middle,
            ]
        case _:
            return ["@counted", f"def small(x=0): return x, {expression}", f"show(small(x={name}))"]


def _advanced(name: str) -> list[str]:
    return [
        "try:",
        f"    for sent in None, 1, {name} is None: show({name}.send(sent))",
        "except StopIteration as stop: show(stop.value)",
    ]


@st.composite
def _block(draw: st.DrawFn, depth: int) -> list[str]:
    statements = draw(st.lists(_statement(depth), min_size=1, max_size=3))
    return [line for lines in statements for line in lines]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a function `program()`; it uses what stands in PRELUDE, and a function `show` that is given."""
    lines: list[str] = [*SETTING]
    for _ in range(draw(st.integers(1, 5))):
        lines += ["try:", *_indented(draw(_block(2)))]
        lines += ["except Exception as error:", "    show((type(error).__name__, str(error)))"]
    lines.append("show((a, b, c, d, box, other, items, table))")
    return "def program():\n" + "\n".join(_indented(lines)) + "\n"
