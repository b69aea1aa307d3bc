"""Wrong programs that are easily passed as correct are found wrong, and their fixed twins are proved right.

Every file in `models/false_passes` holds pairs: a model that says `expect="violated"`, and one of the same
name with `_fixed` behind it that is verified.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.errors import DporError

FOLDER = Path(__file__).resolve().parent / "models" / "false_passes"
SUFFIX = "_fixed"

# What goes wrong: the kind of violation and, where it matters, a word of the message.
KINDS = {
    "wait_guarded_by_if": ("exception", "IndexError"),
    "notify_before_wait": ("deadlock", ""),
    "empty_then_get": ("exception", "Empty"),
    "simple_queue_size_then_get": ("exception", "Empty"),
    "full_then_put": ("exception", "Full"),
    "two_consumers_of_one_sentinel": ("deadlock", ""),
    "shared_generator": ("exception", "generator already executing"),
    "deque_checked_then_popped": ("exception", "IndexError"),
    "heap_checked_then_popped": ("exception", "IndexError"),
}


def _models() -> list[tuple[str, str, bool]]:
    found: list[tuple[str, str, bool]] = []
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                found.append((path.name, node.name, isinstance(node.decorator_list[0], ast.Call)))
    return found


MODELS = _models()
WRONG = [pytest.param(file, name, id=f"{file[:-3]}-{name}") for file, name, wrong in MODELS if wrong]
RIGHT = [pytest.param(file, name, id=f"{file[:-3]}-{name}") for file, name, wrong in MODELS if not wrong]


def test_every_wrong_model_has_a_fixed_twin():
    wrong = {(file, name + SUFFIX) for file, name, is_wrong in MODELS if is_wrong}
    assert wrong == {(file, name) for file, name, is_wrong in MODELS if not is_wrong}


def test_every_named_kind_belongs_to_a_wrong_model():
    assert set(KINDS) <= {name for _, name, is_wrong in MODELS if is_wrong}


@pytest.mark.parametrize("algorithm", ["optimal", "source"])
@pytest.mark.parametrize(("file", "model"), WRONG)
def test_a_wrong_model_is_violated(file, model, algorithm, check):
    result = check(FOLDER / file, model, algorithm=algorithm)
    assert result.reason is None
    assert result.verdict.value == "violated"
    kind, word = KINDS.get(model, ("assertion", ""))
    found = [(violation.kind.value, violation.message) for violation in result.violations]
    assert any(kind == a_kind and word in message for a_kind, message in found), found


@pytest.mark.parametrize(("file", "model"), RIGHT)
def test_a_fixed_model_is_verified(file, model, check):
    result = check(FOLDER / file, model, algorithm="optimal")
    assert result.reason is None
    assert result.verdict.value == "verified", [violation.message for violation in result.violations]
    assert result.redundant == 0


# What treats reads in a way of its own refuses some models, which must be said; it passes none.
WAYS = {
    "value-centric": {"algorithm": "value-centric"},
    "graph": {"algorithm": "graph"},
    "reads-from": {"algorithm": "graph", "partition": "rf"},
    "rc11": {"algorithm": "graph", "memory_model": "rc11"},
    "tso": {"memory_model": "tso"},
    "parsimonious-pso": {"algorithm": "parsimonious", "memory_model": "pso"},
}


@pytest.mark.share(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("file", "model"), WRONG)
def test_a_wrong_model_is_violated_or_refused_in_other_ways(file, model, way, check):
    try:
        result = check(FOLDER / file, model, **WAYS[way])
    except DporError as error:
        if error.code is not Code.UNSUPPORTED_PAIR:
            raise
        return
    assert result.verdict.value == "violated"
