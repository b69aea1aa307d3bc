"""Fields of format texts that name attributes and items: which they are, and what they give step by step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dpor.runtime.formatting import fields, step_by_step

TEXTS = [
    "{0.x}",
    "{.x}{.y}",
    "{0.x!r:>{1.y}}|{{0.x}}",
    "{a.x[k]:{b.y}}",
    "{a.x[0]}",
    "{0[k].x}{a[0]}",
    "{}{}{a}",
    "{:{}}",
    "{0.missing}",
    "{0.x",
    "{2.x}",
    "{c.x}",
    "{0.x!z}",
]


class Plain:
    def load_attribute(self, obj: Any, name: str) -> Any:
        return getattr(obj, name)

    def load_item(self, obj: Any, key: Any) -> Any:
        return obj[key]

    def format(self, value: Any, conversion: int, specification: str) -> str:
        converted = {-1: lambda: value, ord("s"): lambda: str(value), ord("r"): lambda: repr(value)}
        return format(converted.get(conversion, lambda: ascii(value))(), specification)


def outcome(format_text: Any) -> str:
    try:
        return format_text()
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("shared", [False, True])
def test_step_by_step_gives_what_the_method_gives(text: str, shared: bool) -> None:
    arguments: tuple[Any, ...] = (SimpleNamespace(x=1, y=5), SimpleNamespace(x=2, y=6))
    named: dict[str, Any] = {"a": SimpleNamespace(x={"k": 3, 0: 4}), "b": SimpleNamespace(y=3)}
    by_method = outcome(lambda: text.format(*arguments, **named))
    assert outcome(lambda: step_by_step(Plain(), text, arguments, named, shared)) == by_method


def test_fields_are_those_up_to_the_first_that_is_refused() -> None:
    one, two = object(), object()
    found = fields("{0}{0.x}{a[k].y:{b.z}}{{0.q}}", (), {"a": one, "b": two})
    assert found == []
    found = fields("{0.x}{a[k].y:{b.z}}{{0.q}}{0}", (one,), {"a": one, "b": two})
    assert found == [
        (one, ((True, "x"),)),
        (one, ((False, "k"), (True, "y"))),
        (two, ((True, "z"),)),
        (one, ()),
    ]


def test_fields_are_numbered_in_the_order_of_the_text() -> None:
    one, two, three = object(), object(), object()
    assert fields("{}{.x:{.y}}", (one, two, three), None) == [
        (one, ()),
        (two, ((True, "x"),)),
        (three, ((True, "y"),)),
    ]
