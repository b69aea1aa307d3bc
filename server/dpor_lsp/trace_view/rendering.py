"""Puts a recorded trace, the page and its script together into one HTML text."""

from __future__ import annotations

import html
import json
import secrets
from importlib.resources import files

from dpor.counterexample.trace_document import TraceDocument
from dpor.results import to_json

_ASSETS = "page"


def render(document: TraceDocument) -> str:
    """Return a self-contained HTML page of a trace.

    It loads nothing, works from a file, in a browser and in a webview, and runs only its own script: the
    Content-Security-Policy in it allows one nonce, which is new each time. Where things lie on the machine that the
    trace was recorded on is left out.
    """
    nonce = secrets.token_urlsafe(16)
    data = to_json(document)
    # The page may be passed on: folder names of whoever recorded it are nobody's business.
    data.pop("root")
    if data["failure"] is not None:
        data["failure"].pop("traceback")
    # In a script element only "<" can end the element or begin a comment; JSON may write it as an escape.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "nonce": nonce,
        "title": html.escape(document.model),
        "style": _asset("style.css"),
        "data": text,
        "script": _asset("script.js"),
    }
    page = _asset("page.html")
    # One pass from left to right, so that nothing inserted is taken for a place to insert something.
    pieces = page.split("{{")
    return pieces[0] + "".join(
        parts[name] + rest for name, _, rest in (p.partition("}}") for p in pieces[1:])
    )


def _asset(name: str) -> str:
    return files("dpor_lsp.trace_view").joinpath(_ASSETS, name).read_text(encoding="utf-8")
