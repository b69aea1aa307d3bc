"""Texts of the workspace in what editors render: shown as they are, and never taken for markup.

A model's name, docstring, messages and values may be anything, in a folder that nobody trusts too. Rendered, they could
load images of foreign hosts, offer commands to click on, or look like something that this server says.
"""

from __future__ import annotations

import re

# Any punctuation may be escaped. A period, a hyphen and the like mean something in few places only.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|!&~$@]")
_NUMBERED = re.compile(r"(\d{1,9})([.)])")
_LINK = re.compile(r"(?i)(https?|ftp|mailto|xmpp|command|file|vscode)(:)|(www)(\.)")
_LINE_ENDS = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_BACKTICKS = re.compile(r"`+")


def literal(text: str) -> str:
    """A text in a paragraph of Markdown, as it is."""
    return "\\\n".join(_line(line.strip()) for line in _LINE_ENDS.split(text) if line.strip())


def code(text: str) -> str:
    """A text on one line as code in Markdown."""
    shown = " ".join(_LINE_ENDS.split(text))
    fence = "`" * (_longest_run(shown) + 1)
    # A space on both sides is taken away, so that what is shown may begin or end with a backtick.
    return (
        f"{fence} {shown} {fence}"
        if shown[:1] in ("`", " ") or shown[-1:] in ("`", " ")
        else fence + shown + fence
    )


def block(text: str) -> str:
    """A text of some lines as a block of code in Markdown."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def unlinked(text: str) -> str:
    """A message in which no part is `[words](address)`, which some editors make a link of, even to a command."""
    return text.replace("](", "] (")


def _line(line: str) -> str:
    escaped = _SPECIAL.sub(r"\\\g<0>", line)
    escaped = _LINK.sub(r"\1\3\\\2\4", escaped)
    numbered = _NUMBERED.match(escaped)
    if numbered is not None:
        return f"{numbered[1]}\\{escaped[len(numbered[1]) :]}"
    return f"\\{escaped}" if escaped[:1] in ("-", "+", "=") else escaped


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
