"""Which module may import which: in one direction between the packages, and nowhere in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"dpor": ROOT / "engine" / "dpor", "dpor_lsp": ROOT / "server" / "dpor_lsp"}


def modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for package, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *parts))
            found[name.removesuffix(".__init__")] = path
    return found


def loaded(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that are carried out when a module is loaded, those for types alone left out."""
    for statement in body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                yield statement
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.If() if "TYPE_CHECKING" in ast.unparse(statement.test):
                yield from loaded(statement.orelse)
            case _:
                for block in ("body", "orelse", "finalbody"):
                    yield from loaded(getattr(statement, block, []))
                for handler in getattr(statement, "handlers", []):
                    yield from loaded(handler.body)


def imported_by(path: Path) -> Iterator[str]:
    for statement in loaded(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        else:
            module = statement.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in statement.names)


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    known = modules()
    return {name: {one for one in imported_by(path) if one != name} for name, path in known.items()}


def test_the_engine_imports_nothing_of_the_server(imports: dict[str, set[str]]) -> None:
    engine = {name: found for name, found in imports.items() if name.partition(".")[0] == "dpor"}
    assert engine
    assert not {name for name, found in engine.items() if any(one.startswith("dpor_lsp") for one in found)}


def test_no_module_imports_itself_by_way_of_others(imports: dict[str, set[str]]) -> None:
    # What imports nothing that is left is in no circle, and neither is what imports only such modules.
    left = {name: found & imports.keys() for name, found in imports.items()}
    while free := [name for name, found in left.items() if not found & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"these are in a circle, or import one: {sorted(left)}"
