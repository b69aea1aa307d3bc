"""The mutants of a part of the project: small changes of its source that some test should notice."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_RUST = "engine/kernel"
# Numbers are mostly limits, `|` mostly stands in annotations, and the last two want to be told which variables.
_LEFT_OUT = ("NumberReplacer", "_BitOr_", "VariableReplacer", "VariableInserter")


@dataclass(frozen=True)
class Mutant:
    """A change of one file; `apply` gives the file's text with it."""

    name: str
    file: str
    apply: Callable[[str], str]


def of_rust(root: Path, folders: tuple[str, ...]) -> list[Mutant]:
    """Those that cargo-mutants makes of files below `folders` of the kernel's source.

    Raises FileNotFoundError if it is not installed.
    """
    chosen = [word for folder in folders for word in ("--file", f"src/{folder}/**")]
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json", *chosen],
        cwd=root / _RUST,
        check=True,
        capture_output=True,
        text=True,
    )
    return [
        Mutant(one["name"], f"{_RUST}/{one['file']}", _Replacement.of(one))
        for one in json.loads(listed.stdout)
    ]


@dataclass(frozen=True)
class _Replacement:
    """Puts a text in the place of another one; lines and columns count from 1, the end is not included."""

    begin: tuple[int, int]
    end: tuple[int, int]
    text: str

    @staticmethod
    def of(listed: dict[str, object]) -> _Replacement:
        span = json.loads(json.dumps(listed["span"]))
        begin, end = ((span[edge]["line"], span[edge]["column"]) for edge in ("start", "end"))
        return _Replacement(begin, end, str(listed["replacement"]))

    def __call__(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        at = [sum(map(len, lines[: line - 1])) + column - 1 for line, column in (self.begin, self.end)]
        return source[: at[0]] + self.text + source[at[1] :]


def of_python(root: Path, folders: tuple[str, ...]) -> list[Mutant]:
    """Those that cosmic-ray makes of the Python files below `folders`. Raises ImportError if it is not installed."""
    return [
        Mutant(f"{file}: {operator} {number}", file, _Operator(operator, number))
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
        for file in (str(path.relative_to(root)),)
        for operator, number in _positions(path)
    ]


def _positions(path: Path) -> Iterator[tuple[str, int]]:
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    nodes = list(ast_nodes(get_ast_from_path(path)))
    for name in operator_names():
        if any(word in name for word in _LEFT_OUT):
            continue
        operator = get_operator(name)()
        found = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        yield from ((name, number) for number in range(found))


@dataclass(frozen=True)
class _Operator:
    name: str
    occurrence: int

    def __call__(self, source: str) -> str:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        changed = mutate_code(source, get_operator(self.name)(), self.occurrence)
        return source if changed is None else changed
