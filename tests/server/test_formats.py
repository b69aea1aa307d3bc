"""Every report format, from made-up results."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from dpor.assumptions import assumption, refused_if_strict
from dpor.codes import Code
from dpor.results import AssumptionKind, ModelResult, Reason, SourceSpan, Verdict, Violation
from dpor_lsp import formats
from dpor_lsp.cli.report import Entry, Report
from dpor_lsp.formats import text as format_text
from dpor_lsp.formats.text import Style

MakeResult = Callable[..., ModelResult]
ASSUMPTION = assumption(AssumptionKind.FOREIGN_CODE, "tinydb", SourceSpan("m.py", 2))
SCHEMA = Path(__file__).parent / "data" / "sarif-schema-2.1.0.json"


@pytest.fixture
def report(project: Path, make_result: MakeResult, violation: Violation, timeout_reason: Reason) -> Report:
    (project / "m.py").write_text("one\n    two\n")
    results = [
        make_result(),
        make_result(Verdict.VIOLATED, violations=(violation,), blocked=2),
        make_result(Verdict.VIOLATED, violations=(violation,), expect=Verdict.VIOLATED),
        make_result(Verdict.INCOMPLETE, reason=timeout_reason),
        make_result(Verdict.ERROR, reason=Reason(Code.IMPORT_ERROR, "no module 'x'")),
        make_result(expect=Verdict.VIOLATED),
    ]
    return Report(tuple(Entry(result, project) for result in results), project, 1.5, 1700000000.0)


def document(report: Report, name: str) -> Any:
    return json.loads(formats.render(report, name))


def only(report: Report, index: int) -> Report:
    return replace(report, entries=(report.entries[index],))


def test_json_has_the_designed_keys_in_their_order(report: Report) -> None:
    data = document(report, "json")
    assert list(data) == ["version", "exit_code", "models"]
    model = data["models"][1]
    assert list(model)[:15] == [
        *("id", "file", "line", "parameters", "verdict", "reason", "algorithm", "memory_model", "cached"),
        *("executions", "blocked", "redundant", "events", "seconds", "violations"),
    ]
    violation = model["violations"][0]
    assert list(violation)[:6] == ["kind", "code", "message", "location", "schedule", "trace"]
    assert list(violation["trace"][0])[:6] == ["step", "thread", "operation", "target", "value", "location"]
    assert list(violation["location"]) == ["file", "line", "column", "end_line", "end_column"]
    assert model["reason"] is None
    assert list(data["models"][3]["reason"]) == ["code", "message", "fix", "location"]


def test_json_survives_parameters_that_json_cannot_hold(report: Report, make_result: MakeResult) -> None:
    entry = Entry(make_result(parameters={"kinds": {1, 2}, "size": complex(1, 2)}), report.root)
    assert document(replace(report, entries=(entry,)), "json")["models"][0]["parameters"]["size"] == "(1+2j)"


def test_sarif_is_valid(report: Report) -> None:
    jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(
        document(report, "sarif")
    )


def test_sarif_tells_one_flow_of_all_threads_first_and_then_one_a_thread(report: Report) -> None:
    result = document(only(report, 1), "sarif")["runs"][0]["results"][0]
    flat, *others = result["codeFlows"][0]["threadFlows"]
    assert [step["executionOrder"] for step in flat["locations"]] == [1, 2, 3, 4, 5, 6]
    assert all(step["location"]["message"]["text"].startswith("[main.") for step in flat["locations"])
    assert [flow["id"] for flow in others] == ["main.1", "main.0"]
    assert [step["executionOrder"] for step in others[0]["locations"]] == [1, 3, 5]


def test_sarif_names_rules_and_notifications_apart(report: Report) -> None:
    run = document(report, "sarif")["runs"][0]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == ["DPOR203"]
    assert driver["rules"][0]["help"]["text"]
    invocation = run["invocations"][0]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (2, False)
    levels = {note["descriptor"]["id"]: note["level"] for note in invocation["toolExecutionNotifications"]}
    assert levels == {"DPOR304": "warning", "DPOR102": "error"}


def test_sarif_suppresses_what_is_expected(report: Report) -> None:
    results = document(report, "sarif")["runs"][0]["results"]
    assert ["suppressions" in result for result in results] == [False, True]


def test_sarif_fingerprints_do_not_move_with_lines(report: Report) -> None:
    def fingerprint(report: Report) -> object:
        return document(only(report, 1), "sarif")["runs"][0]["results"][0]["partialFingerprints"]

    before = fingerprint(report)
    entry = report.entries[1]
    found = entry.result.violations[0]
    (report.root / "m.py").write_text("\n\none\n    two\n")
    moved = replace(found, location=SourceSpan("m.py", 4, 5))
    after = replace(
        report, entries=(report.entries[0], replace(entry, result=replace(entry.result, violations=(moved,))))
    )
    assert fingerprint(after) == before


def test_sarif_keeps_to_the_limit_of_steps(report: Report) -> None:
    entry = report.entries[1]
    found = entry.result.violations[0]
    trace = tuple(
        replace(found.trace[0], step=number, matters=number % 2 == 0) for number in range(1, 20_001)
    )
    result = replace(entry.result, violations=(replace(found, trace=trace),))
    data = document(replace(report, entries=(Entry(result, report.root),)), "sarif")
    flows = data["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"]
    assert sum(len(flow["locations"]) for flow in flows) <= 10_000
    assert flows[0]["locations"][-1]["executionOrder"] == 20_000


@pytest.fixture
def assumed(report: Report, make_result: MakeResult) -> Report:
    """A report on two models that rest on an assumption: one verified, one that strict refuses."""
    result = make_result(assumptions=(ASSUMPTION,), strict=True)
    results = (replace(result, strict=False), refused_if_strict(result))
    return replace(report, entries=tuple(Entry(result, report.root) for result in results))


def test_json_lists_assumptions_with_their_places(assumed: Report) -> None:
    for model in document(assumed, "json")["models"]:
        (told,) = model["assumptions"]
        assert told["location"] == {
            "file": "m.py",
            "line": 2,
            "column": 1,
            "end_line": None,
            "end_column": None,
        }
        assert (told["kind"], told["subject"], told["message"], told["fix"]) == (
            "foreign-code",
            "tinydb",
            ASSUMPTION.message,
            ASSUMPTION.fix,
        )


def test_a_strict_reason_lists_the_assumptions_instead(assumed: Report) -> None:
    relaxed, strict = document(assumed, "json")["models"]
    assert (relaxed["verdict"], relaxed["reason"]) == ("verified", None)
    assert (strict["verdict"], strict["reason"]["code"]) == ("error", "DPOR116")
    assert f"m.py:2: {ASSUMPTION.message}" in strict["reason"]["message"]
    assert ASSUMPTION.fix in strict["reason"]["fix"]


def test_strict_changes_no_other_verdict(make_result: MakeResult, violation: Violation) -> None:
    broken = make_result(Verdict.VIOLATED, violations=(violation,), assumptions=(ASSUMPTION,), strict=True)
    assert refused_if_strict(broken) is broken
    assert refused_if_strict(make_result(strict=True)).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("name", ["text", "github", "junit", "sarif"])
def test_assumptions_are_told_with_their_place_and_only_once(assumed: Report, name: str) -> None:
    def render(part: Report) -> str:
        return format_text.render(part, Style()) if name == "text" else formats.render(part, name)

    relaxed, strict = (render(only(assumed, index)) for index in (0, 1))
    for rendered in (relaxed, strict):
        assert rendered.count(ASSUMPTION.message) == (2 if name == "junit" and rendered is strict else 1)
    places = {
        "text": "  assuming: m.py:2:1: tinydb",
        "github": "::notice title=DPOR503 m.py%3A%3Amodel,file=m.py,line=2,col=1::assuming: tinydb",
        "junit": "assuming: m.py:2:1: tinydb",
        "sarif": '"id": "DPOR503"',
    }
    assert places[name] in relaxed
    assert places[name] not in strict
    assert "DPOR116" in strict


def test_sarif_with_assumptions_is_valid_and_notes_them_at_their_place(assumed: Report) -> None:
    log = document(assumed, "sarif")
    jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(log)
    told = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [(one["level"], one["descriptor"]["id"]) for one in told] == [
        ("error", "DPOR116"),
        ("note", "DPOR503"),
    ]
    assert all(
        one["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 1}
        for one in told
    )


def test_github_commands_are_escaped(report: Report, make_result: MakeResult) -> None:
    reason = Reason(Code.IMPORT_ERROR, "100% wrong,\nreally: yes", "", SourceSpan("a,b:c.py", 3, 2))
    entry = Entry(make_result(Verdict.ERROR, reason=reason), report.root)
    line = formats.render(replace(report, entries=(entry,)), "github").splitlines()[0]
    assert line == (
        "::error title=DPOR102 m.py%3A%3Amodel,file=a%2Cb%3Ac.py,line=3,col=2::100%25 wrong,%0Areally: yes"
    )


def test_github_files_are_relative_to_the_repository(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(report.root.parent))
    assert "file=project/m.py" in formats.render(only(report, 1), "github")


def test_github_says_nothing_of_what_is_expected(report: Report) -> None:
    assert "::" not in formats.render(only(report, 2), "github")


def test_junit_counts_failures_and_errors(report: Report) -> None:
    root = ElementTree.fromstring(formats.render(report, "junit"))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "3", "1")


def test_junit_holds_what_xml_cannot(report: Report, make_result: MakeResult) -> None:
    result = make_result(
        Verdict.ERROR, reason=Reason(Code.IMPORT_ERROR, "bell \x07 & <tag>"), output="\x1b[31m\0"
    )
    ElementTree.fromstring(formats.render(replace(report, entries=(Entry(result, report.root),)), "junit"))


def test_text_is_a_line_a_model_with_reasons_and_a_summary(report: Report) -> None:
    style = Style(width=100)
    assert (
        format_text.entry(report.entries[0], style)
        == "✓ m.py::model (clerks=1)  verified  3 executions, 4 ms\n"
    )
    incomplete = format_text.entry(report.entries[3], style)
    assert "  DPOR304 m.py:2:1: the check did not end\n    raise --timeout\n" in incomplete
    summary = format_text.summary(report, style)
    assert summary == "6 models: 2 verified, 2 violated, 1 incomplete, 1 error (1 as expected), 1.50 s\n"


def test_text_of_an_expected_violation_stays_short(report: Report) -> None:
    text = format_text.entry(report.entries[2], Style())
    assert text.startswith("✓ ")
    assert "as expected: DPOR203 two threads wait for each other at m.py:2:5" in text


def test_text_says_when_a_violation_was_expected_and_none_was_found(report: Report) -> None:
    text = format_text.entry(report.entries[5], Style())
    assert text.startswith("✗ ")
    assert "expects to be violated" in text


def test_text_without_unicode_and_with_colour(report: Report) -> None:
    text = format_text.entry(report.entries[0], Style(color=True, unicode=False))
    assert text.startswith("\x1b[32m+\x1b[0m")


@pytest.mark.parametrize(
    ("indexes", "code"), [([0], 0), ([2], 0), ([3, 0], 3), ([3, 1], 1), ([1, 3, 4], 2), ([5], 1), ([], 0)]
)
def test_the_worst_result_decides_the_exit_code(report: Report, indexes: list[int], code: int) -> None:
    assert replace(report, entries=tuple(report.entries[index] for index in indexes)).exit_code == code
