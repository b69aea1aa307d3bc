"""`--set` gives values of the types that the parameters have."""

from __future__ import annotations

from typing import Any

import pytest

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import ModelInfo
from dpor_lsp.cli.assignments import assigned_parameters, check_names, parse_assignments

SOURCE = """
SIZE = 3
def model(n=1, ratio=0.5, safe=True, name="x", sizes=(1, 2), anything=None, *, limit=SIZE): pass
"""
MODEL = ModelInfo(
    *("m.py", "model", 3, 5, 3, 10),
    {"n": 1, "ratio": 0.5, "safe": True, "name": "x", "sizes": (1, 2), "anything": None, "limit": "SIZE"},
)


def assigned(text: str) -> dict[str, Any]:
    return assigned_parameters(MODEL, parse_assignments([text]), lambda: SOURCE)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("n=3", "n", 3),
        ("n = -3", "n", -3),
        ("ratio=2", "ratio", 2.0),
        ("safe=false", "safe", False),
        ("safe=True", "safe", True),
        ("name=hello", "name", "hello"),
        ("name='hello'", "name", "hello"),
        ("name=3", "name", "3"),
        ("name=a=b", "name", "a=b"),
        ("sizes=(3,)", "sizes", (3,)),
        ("anything=[1]", "anything", [1]),
        ("limit=7", "limit", 7),
    ],
)
def test_a_value_gets_the_type_of_the_default(text: str, name: str, value: object) -> None:
    result = assigned(text)
    assert result == {name: value}
    assert type(result[name]) is type(value)


@pytest.mark.parametrize("text", ["n=x", "n=2.5", "n=True", "safe=2", "sizes=[1]"])
def test_a_value_of_another_type_is_refused(text: str) -> None:
    with pytest.raises(DporError, match="DPOR106"):
        assigned(text)


@pytest.mark.parametrize("text", ["n", "=3", "2n=3", ""])
def test_a_text_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(DporError, match="NAME=VALUE"):
        parse_assignments([text])


def test_a_name_that_no_model_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(DporError) as caught:
        check_names([MODEL], {"nam": "1"})
    assert caught.value.code is Code.BAD_PARAMETER
    assert "did you mean 'name'?" in caught.value.fix


def test_a_model_without_the_parameter_is_left_alone() -> None:
    assert assigned("other=3") == {}
