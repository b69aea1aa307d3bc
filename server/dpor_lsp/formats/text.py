"""The report for people: a line a model, counterexamples, reasons, and a summary."""

from __future__ import annotations

import collections
import os
import shutil
from dataclasses import dataclass
from typing import TextIO

from dpor.results import Assumption, ModelResult, Verdict
from dpor_lsp.cli.report import Entry, Report
from dpor_lsp.formats import wording

DEFAULT_WIDTH = 100
INDENT = "  "

_BOLD, _DIM, _RED, _GREEN, _YELLOW, _MAGENTA = "1", "2", "31", "32", "33", "35"
_COLOURS = {
    Verdict.VERIFIED: _GREEN,
    Verdict.VIOLATED: _RED,
    Verdict.INCOMPLETE: _YELLOW,
    Verdict.ERROR: _MAGENTA,
}
_SYMBOLS = {
    Verdict.VERIFIED: ("✓", "+"),
    Verdict.VIOLATED: ("✗", "x"),
    Verdict.INCOMPLETE: ("?", "?"),
    Verdict.ERROR: ("!", "!"),
}


@dataclass(frozen=True)
class Style:
    """How text may look: its width in columns, whether in colour, and whether beyond ASCII."""

    width: int = DEFAULT_WIDTH
    color: bool = False
    unicode: bool = True

    def paint(self, text: str, *codes: str) -> str:
        """Return `text` in colour, if colour there is."""
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.color and codes else text


def style_for(stream: TextIO) -> Style:
    """Return the style that suits a stream: colour only on a terminal, and never under NO_COLOR."""
    terminal = stream.isatty()
    width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        "✓│".encode(stream.encoding or "ascii")
        unicode = True
    except (UnicodeError, LookupError):
        unicode = False
    return Style(width, color, unicode)


def render(report: Report, style: Style) -> str:
    """Return the whole report."""
    return "".join(entry(item, style) for item in report.entries) + summary(report, style)


def entry(item: Entry, style: Style) -> str:
    """Return one model's part of the report, ending in a newline."""
    result = item.result
    lines = [_headline(result, style)]
    if result.reason is not None:
        lines.extend(_reason(result, style))
    for warning in result.warnings:
        where = f" at {wording.place(warning.location)}" if warning.location else ""
        lines.append(f"{INDENT}warning: {warning.code.value} {warning.message}{where}")
    sentence = wording.unexpected(result)
    if sentence:
        lines.append(INDENT + style.paint(sentence, _RED))
    lines.extend(_assumption(one) for one in wording.assumptions_to_tell(result))
    text = "\n".join(lines) + "\n"
    for violation in result.violations:
        if result.as_expected:
            where = f" at {wording.place(violation.location)}" if violation.location else ""
            text += f"{INDENT}as expected: {violation.code.value} {violation.message}{where}\n"
        else:
            text += counterexample(item, violation, style)
    if result.output and not result.as_expected:
        text += _output(result.output, style)
    return text


def counterexample(item: Entry, violation: object, style: Style) -> str:
    """Return a violation with its counterexample, between empty lines."""
    # Imported here: most runs find nothing to explain.
    from dpor.counterexample.text import render as render_violation
    from dpor.results import Violation

    assert isinstance(violation, Violation)
    text = render_violation(violation, width=style.width, color=style.color, root=item.root)
    return f"\n{text.rstrip()}\n\n"


def summary(report: Report, style: Style) -> str:
    """Return the last line: how many models have which verdict."""
    results = [item.result for item in report.entries]
    if not results:
        return "no models to check\n"
    numbers = collections.Counter(result.verdict for result in results)
    parts = [
        style.paint(f"{numbers[verdict]} {verdict.value}", _COLOURS[verdict])
        for verdict in Verdict
        if numbers[verdict]
    ]
    expected = sum(1 for result in results if result.as_expected and result.verdict is Verdict.VIOLATED)
    cached = sum(1 for result in results if result.cached)
    text = f"{wording.amount(len(results), 'model')}: {', '.join(parts)}"
    if expected:
        text += f" ({expected} as expected)"
    if cached:
        text += f", {cached} from the cache"
    return f"{text}, {wording.duration(report.seconds)}\n"


def _headline(result: ModelResult, style: Style) -> str:
    good = result.as_expected
    symbol = _SYMBOLS[Verdict.VERIFIED if good else result.verdict][0 if style.unicode else 1]
    color = _GREEN if good else _COLOURS[result.verdict]
    if not good and result.verdict is Verdict.VERIFIED:
        symbol, color = _SYMBOLS[Verdict.VIOLATED][0 if style.unicode else 1], _RED
    values = wording.parameters(result)
    name = style.paint(result.id, _BOLD) + (f" ({values})" if values else "")
    line = f"{style.paint(symbol, color)} {name}  {style.paint(result.verdict.value, color)}"
    if result.verdict is Verdict.ERROR:
        return line
    return f"{line}  {style.paint(wording.counts(result), _DIM)}"


def _reason(result: ModelResult, style: Style) -> list[str]:
    assert result.reason is not None
    reason = result.reason
    where = f"{wording.place(reason.location)}: " if reason.location else ""
    lines = [f"{INDENT}{style.paint(reason.code.value, _BOLD)} {where}{reason.message}"]
    lines.extend(f"{INDENT}{INDENT}{line}" for line in reason.fix.splitlines())
    return lines


def _assumption(one: Assumption) -> str:
    where = f"{wording.place(one.location)}: " if one.location else ""
    return f"{INDENT}assuming: {where}{wording.assumption(one)}"


def _output(output: str, style: Style, most: int = 20) -> str:
    lines = output.splitlines()
    note = [f"... {wording.amount(len(lines) - most, 'more line')} (all of it is in the JSON report)"] * (
        len(lines) > most
    )
    shown = [*lines[:most], *note]
    body = "\n".join(f"{INDENT}| {line[: style.width * 2]}" for line in shown)
    return f"{INDENT}{style.paint('the model printed:', _DIM)}\n{body}\n"
