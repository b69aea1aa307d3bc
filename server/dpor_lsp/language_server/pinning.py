"""A counterexample as a pytest test: the text of the test and where it goes."""

from __future__ import annotations

import ast
import keyword
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from dpor.lines import line_end, split_lines, with_line_ends
from dpor.results import Violation

_WIDTH = 88


@dataclass(frozen=True)
class Pin:
    """A test to write: the file, its text now (None if there is none), its text with the test, the test's line."""

    path: Path
    before: str | None
    after: str
    line: int
    name: str


def test_file(model_file: Path) -> Path:
    """Where the tests of a file's counterexamples go: the file itself if pytest collects it, else one beside it.

    A file beside it can import the model however pytest is set up.
    """
    name = model_file.name
    if name.startswith("test_") or name.endswith("_test.py"):
        return model_file
    return model_file.with_name(f"test_{model_file.stem}_schedules.py")


def already_pinned(text: str, schedule: str) -> bool:
    """True if a text has a test with this schedule."""
    return schedule in re.sub(r"['\"]\s*['\"]", "", text)


def pin(model_file: Path, model: str, violation: Violation, before: str | None) -> Pin:
    """The test that replays a violation; `before` is the text of the test file, None if there is none yet.

    Raises SyntaxError if that text is no valid Python.
    """
    # Imported here: it brings in the whole engine, which the first diagnostic must not wait for.
    from dpor.hosted import module_name_of

    path = test_file(model_file)
    text = before if before is not None else _HEADER
    imported = None if path == model_file else (module_name_of(model_file), model.partition(".")[0])
    text = _with_imports(text, imported)
    name = _free_name(text, f"test_{_identifier(model)}_{_identifier(violation.kind.value)}")
    test = _test(name, model, violation)
    end = line_end(text)
    head = text.rstrip("\r\n") + 3 * end
    after = head + with_line_ends(test, end)
    line = len(split_lines(head))
    return Pin(path, before, after, line, name)


_HEADER = '"""Counterexamples of dpor-lsp: each test fails for as long as its schedule breaks the model."""\n'


def _test(name: str, model: str, violation: Violation) -> str:
    first = _printable(violation.message.partition("\n")[0]).replace('"""', "'''")
    docstring = f'"""{violation.code.value}: {first}'
    docstring += ' """' if docstring.endswith('"') else '"""'
    pieces = textwrap.wrap(violation.schedule, _WIDTH - 10, break_long_words=True, break_on_hyphens=False)
    schedule = "\n".join(f'        "{piece}"' for piece in pieces)
    return (
        f"def {name}() -> None:\n"
        f"    {docstring}\n"
        f"    schedule = (\n{schedule}\n    )\n"
        "    # Once the bug is fixed the model does something else than the schedule says, which is fine then.\n"
        f"    dpor.replay({model}, schedule, allow_divergence=True)\n"
    )


def _with_imports(text: str, imported: tuple[str, str] | None) -> str:
    tree = ast.parse(text)
    wanted: list[str] = []
    if not any(
        isinstance(node, ast.Import) and any(item.name == "dpor" and not item.asname for item in node.names)
        for node in tree.body
    ):
        wanted.append("import dpor")
    if imported is not None and not _imports(tree, *imported):
        wanted.append(f"from {imported[0]} import {imported[1]}")
    if not wanted:
        return text
    lines, end = split_lines(text, keepends=True), line_end(text)
    heads = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    if heads:
        after = heads[-1].end_lineno or heads[-1].lineno
        return _inserted(lines, after, wanted, end)
    docstring = ast.get_docstring(tree) is not None
    after = (tree.body[0].end_lineno or 1) if docstring else _opening_comments(lines)
    blank = not lines[after:] or not lines[after].rstrip("\r\n")
    block = (["", *wanted] if docstring else [*wanted]) + ([] if blank else [""])
    return _inserted(lines, after, block, end)


def _opening_comments(lines: Sequence[str]) -> int:
    """How many lines a text begins with that may name its interpreter and its encoding, which nothing goes before."""
    return sum(1 for _ in takewhile(lambda line: line.startswith("#"), lines))


def _inserted(lines: Sequence[str], after: int, block: Sequence[str], end: str) -> str:
    """A text of lines with their ends, with others after the first `after` of them."""
    before = "".join(lines[:after])
    if before and not before.endswith(("\n", "\r")):
        before += end
    return before + "".join(line + end for line in block) + "".join(lines[after:])


def _printable(text: str) -> str:
    """A text as it can stand in a literal: what would end the line, or is no text, is escaped."""
    return "".join(
        character
        if character.isprintable() and character != "\\"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _imports(tree: ast.Module, module: str, name: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == module
        and any(item.name == name and not item.asname for item in node.names)
        for node in tree.body
    )


def _free_name(text: str, name: str) -> str:
    taken = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    number, chosen = 2, name
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text)
    return f"{name}_" if keyword.iskeyword(name) else name
