"""What a verdict rests on is told once, with the package or function that it is about and the place in the model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpor._kernel import Host
from dpor.assumptions import assumption, merged, way_to_fewer_orders, way_to_unseen_state
from dpor.checking import check_model
from dpor.checkpoints import Checkpoint, Sharing
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import (
    AssumptionKind,
    CheckRequest,
    ModelResult,
    SourceSpan,
    Verdict,
    from_json,
    to_json,
)

LIBRARY = """
class Box:
    def __init__(self):
        self.items = []

    def put(self, item):
        self.items.append(item)

    @classmethod
    def of(cls, items):
        return len(items)


def put(items, item):
    items.append(item)
"""

MODEL = """
import dpor
import boxes
import other

class Own(boxes.Box):
    pass

shared = []

@dpor.model{options}
def model():
    box = {made}
    items = []
    def work():
        {statement}
    dpor.spawn(work)
    dpor.spawn(work)
    dpor.join_all()
"""

OTHER = """
import boxes

def put(items):
    boxes.put(items, 1)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project beside a library that is not instrumented."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "boxes.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(library))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "other.py").write_text(OTHER, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    return folder


def check(folder: Path, statement: str, decorated: str = "", **options: object) -> ModelResult:
    file = folder / "model.py"
    made = "Own()" if "box." in statement else "None"
    file.write_text(MODEL.format(statement=statement, options=decorated, made=made), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("boxes.put(items, 1)", ("model.py", 16)),
        ("box.put(1)", ("model.py", 16)),
        ("boxes.Box.of(items)", ("model.py", 16)),
        ("other.put(items)", ("other.py", 5)),
    ],
)
def test_foreign_code_is_named_by_its_package_at_the_innermost_place_of_the_users_own(
    project: Path, statement: str, place: tuple[str, int]
) -> None:
    (told,) = check(project, statement).assumptions
    assert (told.kind, told.subject) == (AssumptionKind.FOREIGN_CODE, "boxes")
    assert told.location is not None
    assert (told.location.file, told.location.line) == place
    assert 'add instrument=("boxes",)' in told.fix


KEEPING = """
import threading

LOCKS = {}

def use():
    with LOCKS.setdefault(1, threading.Lock()):
        pass
"""


def test_an_error_that_comes_of_what_a_package_keeps_names_the_package(project: Path) -> None:
    (project.parent / "library" / "keeping.py").write_text(KEEPING, encoding="utf-8")
    with pytest.raises(DporError) as caught:
        check(project, "import keeping; keeping.use(); items.append(1)")
    assert caught.value.code is Code.UNCONTROLLED
    assert 'if it comes of what keeping keeps, add instrument=("keeping",)' in caught.value.fix
    named = check(project, "import keeping; keeping.use(); items.append(1)", '(instrument=("keeping",))')
    assert named.verdict is Verdict.VERIFIED, named


def test_the_way_to_what_packages_keep_names_those_that_can_be_looked_into() -> None:
    noted = [
        ("unseen-code", "first", "model.py", 1),
        ("foreign-code", "second", None, 0),
        ("foreign-code", "first", None, 0),
        ("unseen-code", "json", None, 0),
        ("unseen-code", "<string>", None, 0),
        ("object-end", "third", None, 0),
    ]
    assert way_to_unseen_state("see", noted[-3:]) == "see"
    told = way_to_unseen_state("see", noted)
    assert told == 'see\nif it comes of what packages keep, add instrument=("first", "second")'


def test_the_way_to_fewer_orders_names_packages_whose_calls_are_single_operations() -> None:
    noted = [("unseen-code", "first", None, 0), ("foreign-code", "json", None, 0)]
    assert way_to_fewer_orders("raise it", noted) == "raise it"
    told = way_to_fewer_orders("raise it", [*noted, ("foreign-code", "second", None, 0)])
    assert told == (
        'raise it\ncalls of second are taken to change all that they are given: add instrument=("second",)'
    )


def test_a_check_that_ends_at_a_bound_says_which_package_to_look_into(project: Path) -> None:
    told = check(project, "box.put(1)", max_executions=1).reason
    assert told is not None
    assert told.fix.endswith(
        'calls of boxes are taken to change all that they are given: add instrument=("boxes",)'
    )


def test_special_methods_in_c_of_a_class_of_a_package_are_told_of_by_the_package(project: Path) -> None:
    (project.parent / "library" / "kept.py").write_text(
        "KEPT = [1]\n"
        "class Own:\n    __len__ = KEPT.__len__\n    __iter__ = KEPT.__iter__\n    __contains__ = KEPT.count\n",
        encoding="utf-8",
    )
    (project / "own.py").write_text("import kept\nown = kept.Own()\n", encoding="utf-8")
    result = check(project, "from own import own; items.append(own in [own])")
    told = [one.subject for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE]
    assert told == ["kept"]


def test_a_package_that_is_looked_into_is_not_the_users_own(project: Path) -> None:
    (project.parent / "library" / "outer.py").write_text(
        "import boxes\ndef put(items):\n    boxes.put(items, 1)\n", encoding="utf-8"
    )
    result = check(project, "import outer; outer.put(items)", '(instrument=("outer",))')
    # The threads import it, which is an assumption of its own.
    (told,) = (one for one in result.assumptions if one.kind is not AssumptionKind.LATE_IMPORT)
    assert told.subject == "boxes"
    assert told.location is not None
    assert told.location.file == "model.py"


def test_what_is_not_assumed_is_verified_even_if_strict(project: Path) -> None:
    result = check(project, "items.append(1)", strict=True)
    assert (result.verdict, result.assumptions) == (Verdict.VERIFIED, ())


@pytest.mark.parametrize(("decorated", "options"), [("(strict=True)", {}), ("", {"strict": True})])
def test_strict_turns_a_verdict_that_rests_on_assumptions_into_an_error(
    project: Path, decorated: str, options: dict[str, object]
) -> None:
    result = check(project, "boxes.put(items, 1)", decorated, **options)
    assert result.verdict is Verdict.ERROR
    assert result.reason is not None
    assert result.reason.code is Code.ASSUMED
    assert result.reason.location == SourceSpan("model.py", 16)
    assert "model.py:16: boxes is not instrumented" in result.reason.message
    assert 'add instrument=("boxes",)' in result.reason.fix
    assert result.assumptions


def test_a_violation_stays_one_if_strict(project: Path) -> None:
    result = check(project, "boxes.put(items, 1); assert len(items) < 2", strict=True)
    assert result.verdict is Verdict.VIOLATED
    assert result.assumptions


def test_an_assumption_survives_json(project: Path) -> None:
    result = check(project, "boxes.put(items, 1)")
    assert from_json(ModelResult, json.loads(json.dumps(to_json(result)))).assumptions == result.assumptions


def test_a_check_that_goes_on_rests_on_what_was_assumed_before_it_was_stopped(project: Path) -> None:
    kept: list[Checkpoint] = []
    file = project / "model.py"
    statement = "boxes.put(items, 1)"
    check(project, statement)
    options = {"algorithm": "parsimonious", "max_executions": 1}
    request = CheckRequest(str(file), "model", str(project), options=options)
    assert check_model(request, None, Sharing(keep=kept.append)).verdict is Verdict.INCOMPLETE
    checkpoint = from_json(Checkpoint, json.loads(json.dumps(to_json(kept[-1]))))
    assert [one.subject for one in checkpoint.assumptions] == ["boxes"]
    going_on = CheckRequest(str(file), "model", str(project), options={"algorithm": "parsimonious"})
    result = check_model(going_on, None, Sharing(checkpoint=checkpoint))
    assert (result.verdict, result.assumptions) == (Verdict.VERIFIED, checkpoint.assumptions)


def test_the_kernel_and_the_reports_know_the_same_kinds() -> None:
    assert Host.assumption_kinds() == [kind.value for kind in AssumptionKind]


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match='no assumption is of kind "guess"'):
        Host().assume("guess", "nothing")


def test_nothing_is_assumed_while_no_model_runs() -> None:
    host = Host()
    host.assume("drawn-value", "random")
    assert host.assumptions() == []


@pytest.mark.parametrize("kind", AssumptionKind)
def test_every_kind_says_what_it_is_about_and_how_to_do_without_it(kind: AssumptionKind) -> None:
    told = assumption(kind, "something")
    assert told.fix
    assert ("something" in told.message) == (kind is not AssumptionKind.CONTAINER_ORDER)


def test_an_assumption_of_several_parts_of_a_check_is_told_once_at_its_first_place() -> None:
    def at(line: int | None) -> SourceSpan | None:
        return None if line is None else SourceSpan("m.py", line)

    parts = [assumption(AssumptionKind.FOREIGN_CODE, "boxes", at(line)) for line in (None, 9, 4)]
    others = [assumption(AssumptionKind.OBJECT_END, "weakref.ref", at(1))]
    told = [(one.subject, one.location) for one in merged([*others, *parts])]
    assert told == [("boxes", at(4)), ("weakref.ref", at(1))]


@pytest.mark.parametrize("name", ["builtins", "_io", "collections", "array"])
def test_nobody_is_told_to_instrument_the_standard_library(name: str) -> None:
    told = assumption(AssumptionKind.FOREIGN_CODE, name)
    assert told.fix.startswith("what of the standard library is written in C")


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        ("", {(AssumptionKind.LOST_EXCEPTION, "ValueError")}),
        ("future.exception()", set[tuple[AssumptionKind, str]]()),
    ],
)
def test_an_exception_of_a_task_that_nobody_asks_for_is_named(
    tmp_path: Path, ask: str, told: set[tuple[AssumptionKind, str]]
) -> None:
    path = tmp_path / "model.py"
    path.write_text(f"""
from concurrent.futures import ThreadPoolExecutor
import dpor

@dpor.model
def model():
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(int, "no number")
    {ask}
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert {(one.kind, one.subject) for one in result.assumptions} == told


@pytest.mark.parametrize(
    ("look", "subject"),
    [
        ("time.monotonic()", "time.monotonic"),
        ("time.perf_counter_ns()", "time.perf_counter_ns"),
        ("time.process_time()", "time.process_time"),
        ("asyncio.new_event_loop().time()", "loop.time"),
    ],
)
def test_a_look_at_a_clock_that_only_sleeps_move_is_named(tmp_path: Path, look: str, subject: str) -> None:
    (tmp_path / "model.py").write_text(f"""
import asyncio
import time
import dpor

@dpor.model
def model():
    start = {look}
    assert {look} - start < 10
""")
    result = check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert {(one.kind, one.subject) for one in result.assumptions} == {(AssumptionKind.FIXED_CLOCK, subject)}


def test_time_limits_of_the_library_need_no_assumption(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import asyncio
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
import dpor

@dpor.model
def model():
    waiting = queue.Queue()
    with ThreadPoolExecutor(1) as pool:
        list(as_completed([pool.submit(waiting.put, 1)]))
    waiting.get(timeout=1)
    threading.Event().wait(1)
    asyncio.run(asyncio.wait_for(asyncio.sleep(0), 1))
""")
    result = check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result
    assert result.assumptions == ()
