"""JUnit XML: a test suite a file, a test case a model."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import cast

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from dpor.results import ModelResult, Verdict
from dpor_lsp.cli.report import Entry, Report
from dpor_lsp.formats import text as format_text
from dpor_lsp.formats import wording

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Return the report as one JUnit document; an incomplete check is a failure, a model error an error."""
    document = JUnitXml("dpor-lsp")
    suites: dict[str, TestSuite] = {}
    for entry in report.entries:
        file = entry.result.file
        if file not in suites:
            suites[file] = TestSuite(_clean(file))
            suites[file].timestamp = datetime.fromtimestamp(report.started, UTC).isoformat()
        suites[file].add_testcase(_case(entry))
    for suite in suites.values():
        document.add_testsuite(suite)
    document.update_statistics()
    text = cast("bytes | str", document.tostring())  # pyright: ignore[reportUnknownMemberType]
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    return text if text.startswith("<?xml") else f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(entry: Entry) -> TestCase:
    result = entry.result
    classname = result.file.removesuffix(".py").replace("/", ".")
    case = TestCase(
        _clean(result.id.partition("::")[2] or result.file), classname=_clean(classname), time=result.seconds
    )
    style = format_text.Style()
    if result.as_expected:
        case.system_out = _clean(_facts(result))
        return case
    outcomes: list[FinalResult] = []
    for violation in result.violations:
        failure = Failure(_clean(violation.message), type_=violation.code.value)
        failure.text = _clean(format_text.counterexample(entry, violation, style))
        outcomes.append(failure)
    if result.reason is not None:
        kind = Error if result.verdict is Verdict.ERROR else Failure
        outcome = kind(_clean(result.reason.message), type_=result.reason.code.value)
        where = wording.place(result.reason.location)
        outcome.text = _clean(
            "\n".join(part for part in (where, result.reason.message, result.reason.fix) if part)
        )
        outcomes.append(outcome)
    sentence = wording.unexpected(result)
    if sentence:
        outcomes.append(Failure(sentence, type_="unexpected-verdict"))
    case.result = outcomes
    case.system_out = _clean(result.output or _facts(result))
    return case


def _facts(result: ModelResult) -> str:
    """Return the counts of a check, and what its verdict rests on, a line each."""
    assumed = [
        f"assuming: {wording.place(one.location) or result.file}: {wording.assumption(one)}"
        for one in wording.assumptions_to_tell(result)
    ]
    return "\n".join([wording.counts(result), *assumed])


def _clean(text: str) -> str:
    """Replace what XML cannot hold, such as the control characters that a model printed."""
    return _NOT_XML.sub("\ufffd", text)
