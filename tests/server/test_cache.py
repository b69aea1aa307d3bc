"""The cache answers only for the very same check, is shared, and survives damage."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dpor.assumptions import assumption
from dpor.codes import Code
from dpor.contents import UNSTABLE, Contents, Kind, key_of
from dpor.counterexample.schedule import Schedule, encode
from dpor.results import AssumptionKind, ModelResult, Reason, Verdict, Violation
from dpor_lsp.checking.cache import FILE, FOLDER, Cache
from dpor_lsp.checking.cached_rows import digest
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.fingerprint import Hasher

MakeTarget = Callable[..., CheckTarget]
MakeResult = Callable[..., ModelResult]
SCHEDULE = encode(Schedule("m.py::model", ()))


def checked(target: CheckTarget, result: ModelResult) -> ModelResult:
    """The result as a worker gives it that has read the files as they are now."""
    keys = [key_of(Kind.FILE, str(target.path))]
    for name in result.dependencies:
        path = target.root / name
        keys.append(key_of(Kind.NAMES if path.is_dir() else Kind.FILE, str(path)))
    hasher = Hasher()
    contents = {key: hasher.value(key, target.texts) for key in keys}
    violations = tuple(replace(violation, schedule=SCHEDULE) for violation in result.violations)
    return replace(result, contents=contents, violations=violations)


class Warnings:
    def __init__(self) -> None:
        self.codes: list[Code] = []
        self.messages: list[str] = []

    def __call__(self, code: Code, message: str) -> None:
        self.codes.append(code)
        self.messages.append(message)


@pytest.fixture
def warnings() -> Warnings:
    return Warnings()


@pytest.fixture
def cache(project: Path, warnings: Warnings) -> Cache:
    return Cache(project, warnings)


def test_a_kept_result_is_found_again_and_says_that_it_was(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, violation: Violation
) -> None:
    target = make_target()
    result = make_result(Verdict.VIOLATED, violations=(violation,))
    cache.keep(target, checked(target, result))
    kept = replace(checked(target, result), cached=True, contents={})
    assert cache.find(target) == kept


def test_another_process_finds_it_too(
    cache: Cache, warnings: Warnings, project: Path, make_target: MakeTarget, make_result: MakeResult
) -> None:
    cache.keep(make_target(), checked(make_target(), make_result()))
    assert Cache(project, warnings).find(make_target()) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"parameters": {"clerks": 2}},
        {"options": {"algorithm": "source"}},
        {"all_violations": True},
        {"source": "def model():\n    return 1\n"},
    ],
)
def test_another_check_is_not_answered(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, other: dict[str, object]
) -> None:
    target = make_target()
    cache.keep(target, checked(target, make_result()))
    options = other.pop("options", {})
    changed = make_target(**other)
    changed = replace(changed, request=replace(changed.request, options=options))
    assert cache.find(changed) is None
    assert cache.find(make_target()) is not None


def test_a_timeout_alone_makes_no_other_check(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult
) -> None:
    target = make_target()
    cache.keep(target, checked(target, make_result()))
    assert cache.find(replace(target, request=replace(target.request, options={"timeout": 3}))) is not None


def test_a_changed_dependency_invalidates(
    cache: Cache, project: Path, make_target: MakeTarget, make_result: MakeResult
) -> None:
    helper = project / "helper.py"
    helper.write_text("x = 1\n")
    target = make_target()
    cache.keep(target, checked(target, make_result(dependencies=("helper.py",))))
    assert cache.find(target) is not None
    helper.write_text("x = 22\n")
    assert cache.find(target) is None
    helper.unlink()
    assert cache.find(target) is None


def test_a_name_more_in_a_folder_that_was_listed_invalidates(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, project: Path
) -> None:
    folder = project / "listed"
    folder.mkdir()
    target = make_target()
    cache.keep(target, checked(target, replace(make_result(), dependencies=("listed",))))
    assert cache.find(target) is not None
    (folder / "new").touch()
    assert cache.find(target) is None


@pytest.mark.parametrize(
    ("target", "kept"), [("the file data.json", True), ("the environment variable HOME", False)]
)
def test_a_result_that_rests_on_what_nothing_tells_of_is_not_kept(
    target: str, kept: bool, cache: Cache, make_target: MakeTarget, make_result: MakeResult
) -> None:
    rests = replace(make_result(), assumptions=(assumption(AssumptionKind.FIXED_WORLD, target),))
    cache.keep(make_target(), checked(make_target(), rests))
    assert (cache.find(make_target()) is not None) is kept


def test_what_is_kept_answers_for_the_texts_that_were_checked_alone(
    cache: Cache, project: Path, make_target: MakeTarget, make_result: MakeResult
) -> None:
    helper = project / "helper.py"
    helper.write_text("x = 1\n")
    target = make_target()
    result = checked(target, make_result(dependencies=("helper.py",)))
    times = helper.stat()
    helper.write_text("x = 2\n")
    os.utime(helper, ns=(times.st_atime_ns, times.st_mtime_ns))
    cache.keep(target, result)
    assert cache.find(target) is None
    helper.write_text("x = 1\n")
    assert cache.find(target) is not None


@pytest.mark.parametrize("model_changed", [True, False])
def test_a_result_that_does_not_say_what_was_checked_is_not_kept(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, model_changed: bool
) -> None:
    target = make_target()
    result = make_result()
    if model_changed:
        result = checked(target, result)
        target.path.write_text("def model():\n    return 2\n")
    cache.keep(target, result)
    assert cache.find(target) is None


def test_what_changed_while_it_was_checked_is_not_kept(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult
) -> None:
    target = make_target()
    result = checked(target, make_result())
    changed = {key_of(Kind.FILE, str(target.root / "data.txt")): UNSTABLE}
    cache.keep(target, replace(result, contents={**result.contents, **changed}))
    assert cache.find(target) is None


@pytest.mark.parametrize("new", ["tool/__init__.py", "tool.py", "first/tool.py", "tool.abi3.so"])
def test_a_file_that_an_import_would_take_instead_invalidates(
    cache: Cache, project: Path, make_target: MakeTarget, make_result: MakeResult, new: str
) -> None:
    contents = Contents()
    contents.note_search("tool", [str(project), str(project / "first")])
    target = make_target()
    result = checked(target, make_result())
    cache.keep(target, replace(result, contents={**result.contents, **contents.values()}))
    (project / "other.py").touch()
    assert cache.find(target) is not None
    (project / new).parent.mkdir(exist_ok=True)
    (project / new).touch()
    assert cache.find(target) is None


def test_relative_paths_answer_for_the_folder_that_they_were_relative_to(
    cache: Cache,
    project: Path,
    make_target: MakeTarget,
    make_result: MakeResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contents = Contents()
    contents.note_current_folder()
    target = make_target()
    result = checked(target, make_result())
    cache.keep(target, replace(result, contents={**result.contents, **contents.values()}))
    assert cache.find(target) is not None
    monkeypatch.chdir(project)
    assert cache.find(target) is None


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict.ERROR, Code.WORKER_DIED),
        (Verdict.INCOMPLETE, Code.TIMEOUT),
        (Verdict.INCOMPLETE, Code.CANCELLED),
    ],
)
def test_what_may_end_otherwise_next_time_is_not_kept(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, verdict: Verdict, code: Code
) -> None:
    target = make_target()
    cache.keep(target, checked(target, make_result(verdict, reason=Reason(code, ""))))
    assert cache.find(target) is None


def test_a_bound_that_was_reached_is_kept(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult
) -> None:
    target = make_target()
    cache.keep(
        target, checked(target, make_result(Verdict.INCOMPLETE, reason=Reason(Code.MAX_EXECUTIONS, "")))
    )
    assert cache.find(target) is not None


def test_the_last_counterexample_outlives_changes(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, violation: Violation
) -> None:
    target = make_target(parameters={"clerks": 2})
    cache.keep(target, checked(target, make_result(Verdict.VIOLATED, violations=(violation,))))
    kept = cache.last_counterexample("m.py::model")
    assert kept is not None
    assert (kept.schedule, kept.parameters) == (SCHEDULE, {"clerks": 2})
    assert cache.last_counterexample("m.py::other") is None


@pytest.mark.parametrize("content", [b"this is no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside_and_reported(
    project: Path,
    warnings: Warnings,
    make_target: MakeTarget,
    make_result: MakeResult,
    content: bytes,
) -> None:
    (project / FOLDER).mkdir()
    (project / FOLDER / FILE).write_bytes(content)
    cache = Cache(project, warnings)
    assert cache.find(make_target()) is None
    assert warnings.codes == [Code.CACHE_CORRUPT]
    cache.keep(make_target(), checked(make_target(), make_result()))
    assert cache.find(make_target()) is not None
    assert any("damaged" in item.name for item in (project / FOLDER).iterdir())


TAMPERING = [
    "result = '{'",
    "result = replace(result, '\"verified\"', '\"violated\"')",
    "result = replace(result, 'm.py::model', 'm.py::other')",
    "result = replace(result, '\"executions\": 3', '\"executions\": -3')",
    "result = CAST(zeroblob(20) AS BLOB)",
    "contents = '{}'",
    "model = 'm.py::other'",
]


@pytest.mark.parametrize("resigned", [False, True])
@pytest.mark.parametrize("change", TAMPERING)
def test_a_row_that_does_not_fit_is_dropped_and_told_of_once(
    cache: Cache,
    project: Path,
    warnings: Warnings,
    make_target: MakeTarget,
    make_result: MakeResult,
    change: str,
    resigned: bool,
) -> None:
    targets = [make_target(parameters={"clerks": 1}), make_target()]
    for target in targets:
        cache.keep(target, checked(target, make_result()))
    connection = sqlite3.connect(project / FOLDER / FILE)
    with connection:
        connection.execute(f"UPDATE results SET {change}")
        for row in connection.execute("SELECT key, model, contents, result FROM results").fetchall():
            if resigned:
                connection.execute("UPDATE results SET digest = ? WHERE key = ?", (digest(*row), row[0]))
    connection.close()
    assert [cache.find(target) for target in targets] == [None, None]
    assert warnings.codes == [Code.CACHE_CORRUPT]
    cache.keep(targets[0], checked(targets[0], make_result()))
    assert cache.find(targets[0]) is not None


@pytest.mark.parametrize(
    "change",
    [
        "schedule = 'dpor1:text'",
        "schedule = 7",
        "parameters = '[1]'",
        'options = \'{"algorithm": "magic"}\'',
        "options = '{\"magic\": 1}'",
    ],
)
@pytest.mark.parametrize("resigned", [False, True])
def test_a_counterexample_that_does_not_fit_is_dropped(
    cache: Cache,
    project: Path,
    warnings: Warnings,
    make_target: MakeTarget,
    make_result: MakeResult,
    violation: Violation,
    change: str,
    resigned: bool,
) -> None:
    target = make_target()
    cache.keep(target, checked(target, make_result(Verdict.VIOLATED, violations=(violation,))))
    connection = sqlite3.connect(project / FOLDER / FILE)
    with connection:
        connection.execute(f"UPDATE counterexamples SET {change}")
        row = connection.execute(
            "SELECT model, schedule, parameters, options FROM counterexamples"
        ).fetchone()
        if resigned:
            connection.execute("UPDATE counterexamples SET digest = ?", (digest(*row),))
    connection.close()
    assert cache.last_counterexample("m.py::model") is None
    assert warnings.codes == [Code.CACHE_CORRUPT]


def test_a_folder_that_cannot_be_made_costs_one_warning(
    project: Path, warnings: Warnings, make_target: MakeTarget, make_result: MakeResult
) -> None:
    (project / FOLDER).write_text("a file is in the way")
    cache = Cache(project, warnings)
    assert cache.find(make_target()) is None
    cache.keep(make_target(), checked(make_target(), make_result()))
    assert len(warnings.codes) == 1


def test_the_folder_is_marked_as_a_cache_and_ignored_by_git(
    cache: Cache, project: Path, make_target: MakeTarget
) -> None:
    cache.find(make_target())
    assert (project / FOLDER / ".gitignore").read_text() == "*\n"
    assert (
        (project / FOLDER / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )


def test_many_processes_may_keep_at_once(project: Path, warnings: Warnings, make_target: MakeTarget) -> None:
    make_target()
    code = """
import sys
from pathlib import Path
from dpor.contents import Kind, current, key_of
from dpor.results import CheckRequest, ModelInfo, ModelResult, Verdict
from dpor_lsp.checking.cache import Cache
from dpor_lsp.checking.fingerprint import Hasher
from dpor_lsp.checking.check_target import CheckTarget
root, first = Path(sys.argv[1]), int(sys.argv[2])
cache = Cache(root, lambda code, message: sys.exit(message))
for n in range(first, first + 20):
    request = CheckRequest(str(root / "m.py"), "model", str(root), {"n": n})
    target = CheckTarget(ModelInfo("m.py", f"model{n}", 1, 1, 1, 1), root, request)
    cache.find(target)
    key = key_of(Kind.FILE, str(root / "m.py"))
    cache.keep(target, ModelResult(target.info.id, "m.py", 1, {}, Verdict.VERIFIED, contents={key: current(key)}))
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(project), str(first)]) for first in range(0, 80, 20)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    with sqlite3.connect(project / FOLDER / FILE) as connection:
        (number,) = connection.execute("SELECT count(*) FROM results").fetchone()
    connection.close()
    assert number == 80


def test_old_entries_of_a_model_make_room(
    cache: Cache, project: Path, make_target: MakeTarget, make_result: MakeResult
) -> None:
    for number in range(30):
        cache.keep(
            make_target(parameters={"n": number}),
            checked(make_target(parameters={"n": number}), make_result()),
        )
    assert cache.find(make_target(parameters={"n": 0})) is None
    assert cache.find(make_target(parameters={"n": 29})) is not None


def test_installing_a_package_invalidates(
    project: Path,
    warnings: Warnings,
    make_target: MakeTarget,
    make_result: MakeResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    Cache(project, warnings).keep(make_target(), checked(make_target(), make_result()))
    assert Cache(project, warnings).find(make_target()) is not None
    os.utime(packages, (1, 1))
    assert Cache(project, warnings).find(make_target()) is None


def test_the_texts_of_an_editor_count_instead_of_the_files(
    cache: Cache, make_target: MakeTarget, make_result: MakeResult, project: Path
) -> None:
    other = project / "other.py"
    other.write_text("A = 1\n")
    plain = make_target()
    edited = replace(plain, request=replace(plain.request, source="def model():\n    return 1\n"))
    result = make_result(dependencies=(str(plain.path), str(other)))
    cache.keep(edited, checked(edited, result))
    assert cache.find(plain) is None
    assert cache.find(edited) is not None
    overlaid = replace(edited, request=replace(edited.request, overlays={str(other): "A = 2\n"}))
    assert cache.find(overlaid) is None
    same = replace(edited, request=replace(edited.request, overlays={str(other): "A = 1\n"}))
    assert cache.find(same) is not None
    plain.path.write_text(edited.request.source or "")
    assert cache.find(plain) is not None
