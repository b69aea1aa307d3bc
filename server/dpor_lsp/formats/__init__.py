"""One module a report format; each has `render(report, ...) -> str`, and is imported only when it is asked for."""

from __future__ import annotations

from dpor_lsp.cli.report import Report


def render(report: Report, name: str) -> str:
    """Return the whole report in the machine-readable format `name` (all of `options.FORMATS` but `text`)."""
    if name == "json":
        from dpor_lsp.formats import json as format_json

        return format_json.render(report)
    if name == "sarif":
        from dpor_lsp.formats import sarif

        return sarif.render(report)
    if name == "github":
        from dpor_lsp.formats import github

        return github.render(report)
    from dpor_lsp.formats import junit

    return junit.render(report)
