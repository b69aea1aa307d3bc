"""What the documents say is there, and what is there is in the documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.discovery import find_model_files, find_models
from dpor.options import OPTIONS, SUPPORTED, Algorithm, MemoryModel

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = document.parent / path if path else document
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_code_has_a_section() -> None:
    sections = re.findall(r"^### (DPOR\d+)$", read("docs/codes.md"), re.MULTILINE)
    assert sections == [code.value for code in Code]


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_a_model_is_explained(option: str) -> None:
    assert option == "k" or f"| `{option}` |" in read("docs/writing-models.md")
    if option not in ("expect", "instrument"):
        assert f"| `--{option.replace('_', '-')} " in read("docs/command-line.md")


@pytest.mark.parametrize("algorithm", Algorithm)
def test_every_algorithm_is_named(algorithm: Algorithm) -> None:
    for document in ("docs/writing-models.md", "docs/command-line.md", "README.md"):
        assert f"`{algorithm.value}`" in read(document)


def test_the_matrix_of_algorithms_and_memory_models_is_that_of_the_kernel() -> None:
    host = pytest.importorskip("dpor._kernel").Host
    models = [model.value for model in MemoryModel]
    rows: dict[str, list[str]] = {}
    for line in read("README.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(models) + 3 and cells[0].startswith("`"):
            for name in re.findall(r"`(\w+(?:-\w+)*)`", cells[0]):
                rows[name] = cells[2:-1]
    for algorithm in Algorithm:
        kernel = "random" if algorithm is Algorithm.PCT else algorithm.value
        supported = ["yes" if host.alternative(kernel, model) is None else "no" for model in models]
        assert (algorithm, rows[algorithm.value]) == (algorithm, supported)
        listed = ["yes" if algorithm in SUPPORTED[model] else "no" for model in MemoryModel]
        assert (algorithm, listed) == (algorithm, supported)


def test_every_example_is_listed_with_its_verdict() -> None:
    listed: dict[tuple[str, str], str] = {}
    file = ""
    for line in read("examples/README.md").splitlines():
        row = re.match(r"\| (?:\[.*\]\((\S+\.py)\))? *\| `(\w+)` \| (\w+)", line)
        if row is not None:
            file = row[1] or file
            listed[file, row[2]] = row[3]
    examples = ROOT / "examples"
    found = {
        (path.relative_to(examples).as_posix(), model.name): model.options.get("expect", "verified")
        for path in find_model_files([examples])
        for model in find_models(path, ROOT)
    }
    assert listed == found
