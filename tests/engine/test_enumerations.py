"""Members of enumerations in threads: values that do not change, unless a program changes them."""

from __future__ import annotations

import enum
import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.values import describe_key
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

HEADER = """
import enum, inspect
import dpor

class Permission(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4

class Number(enum.IntFlag):
    ONE = 1
    TWO = 2

class Colour(enum.Enum):
    RED = 1
    GREEN = 2

class Text(enum.StrEnum):
    A = "a"

class Own(enum.Flag):
    A = 1
    B = 2
    def __contains__(self, other):
        seen.append(other)
        return super().__contains__(other)

class Named(inspect.Parameter):
    pass

seen = []

def in_two_threads(first, second=None):
    threads = [dpor.spawn(first), dpor.spawn(second or first)]
    for thread in threads:
        thread.join()
"""
OPERATIONS = (
    "Permission.READ | Permission.WRITE",
    "Permission.READ & Permission.WRITE",
    "Permission.READ ^ Permission.WRITE",
    "~Permission.READ",
    "Permission.READ in Permission.WRITE",
    "not Permission.READ",
    "bool(Permission.READ)",
    "len(Permission.READ | Permission.WRITE)",
    "list(Permission.READ)",
    "[*Permission.READ]",
    "Permission(3)",
    "Permission(0)",
    "Permission['READ']",
    "Permission.READ == Permission.WRITE",
    "{Permission.READ: 1}[Permission.READ]",
    "{Permission.READ: 1}[Permission(1)]",
    "str(Permission.READ)",
    "f'{Permission.READ!r} {Permission.WRITE}'",
    "Permission.READ.value",
    "Permission.READ.name",
    "[member.name for member in Permission]",
    "Number.ONE | Number.TWO",
    "Number.ONE in Number.TWO",
    "~Number.ONE",
    "len(Number.ONE)",
    "Colour.RED in Colour",
    "Colour(1)",
    "Text.A in 'abc'",
    "Text('a')",
)


def check(tmp_path: Path, body: str) -> ModelResult:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    (tmp_path / "model.py").write_text(f"{HEADER}\n@dpor.model\ndef model():\n{text}\n")
    return check_model(CheckRequest("model.py", "model", str(tmp_path)))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_on_members_are_no_events_and_assume_nothing(tmp_path: Path, operation: str) -> None:
    result = check(tmp_path, f"in_two_threads(lambda: {operation})")
    assert (result.verdict, result.executions, result.assumptions) == (Verdict.VERIFIED, 1, ())


def test_an_update_with_a_flag_is_no_event_of_the_flag(tmp_path: Path) -> None:
    body = """
    def update():
        own = Permission.READ
        own |= Permission.WRITE
    in_two_threads(update)
    """
    result = check(tmp_path, body)
    assert (result.verdict, result.executions, result.assumptions) == (Verdict.VERIFIED, 1, ())


def test_an_update_of_shared_flags_can_be_lost(tmp_path: Path) -> None:
    body = """
    held = [Permission(0)]
    def add(flag):
        held[0] |= flag
    in_two_threads(lambda: add(Permission.READ), lambda: add(Permission.WRITE))
    assert held[0] == Permission.READ | Permission.WRITE
    """
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VIOLATED
    assert result.assumptions == ()


def test_code_of_a_model_in_a_class_of_flags_is_seen(tmp_path: Path) -> None:
    body = """
    in_two_threads(lambda: Own.A in Own.B, lambda: Own.B in Own.A)
    assert seen == [Own.A, Own.B]
    """
    assert check(tmp_path, body).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("store", "look", "outcomes"),
    [
        ("Permission.READ._value_ = 0", "bool(Permission.READ)", (True, False)),
        ("Permission.READ._value_ = 6", "len(Permission.READ)", (1, 2)),
        ("Permission.READ._value_ = 4", "(Permission.READ | Permission.WRITE)._value_", (3, 6)),
        ("Colour.RED._value_ = 5", "Colour.RED.value", (1, 5)),
        ("Colour.RED._name_ = 'BLUE'", "Colour.RED.name", ("RED", "BLUE")),
        ("Colour.RED._name_ = 'BLUE'", "str(Colour.RED)", ("Colour.RED", "Colour.BLUE")),
        ("vars(Colour.RED)['_value_'] = 5", "Colour.RED.value", (1, 5)),
        ("NAMED._name = 'b'", "NAMED.name", ("a", "b")),
    ],
)
def test_a_changed_member_is_seen_or_named(
    tmp_path: Path, store: str, look: str, outcomes: tuple[object, object]
) -> None:
    for outcome in outcomes:
        body = f"""
        NAMED = Named("a", Named.KEYWORD_ONLY)
        found = []
        def change():
            {store}
        in_two_threads(change, lambda: found.append({look}))
        assert found != [{outcome!r}]
        """
        result = check(tmp_path, body)
        assert result.verdict is Verdict.VIOLATED or AssumptionKind.UNSEEN_CODE in {
            one.kind for one in result.assumptions
        }, outcome


@pytest.mark.parametrize("body", ["Colour.RED.weight = 5", "del Colour.GREEN.weight"])
def test_what_a_program_keeps_in_a_member_is_an_attribute_like_others(tmp_path: Path, body: str) -> None:
    result = check(
        tmp_path,
        f"""
        Colour.GREEN.weight = 1
        def change():
            {body}
        in_two_threads(change, lambda: Colour.RED.value)
        """,
    )
    assert (result.verdict, result.assumptions) == (Verdict.VERIFIED, ())


def test_flags_that_have_no_name_are_shown_by_their_value() -> None:
    class Permission(enum.Flag):
        READ = 1
        WRITE = 2

    assert describe_key(Permission(0), lambda value: "?") == "Permission(0)"
    assert describe_key(Permission.READ, lambda value: "?") == "Permission.READ"
