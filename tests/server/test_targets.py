"""From paths to models, with every kind of path that does not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.codes import Code
from dpor_lsp.cli.targets import Found, Overrides, Problem, find_targets, plan
from dpor_lsp.project import Settings

TWO = (
    "import dpor\n@dpor.model\ndef first(n: int = 1): pass\n@dpor.model(timeout=5, k=2)\ndef second(): pass\n"
)


@pytest.fixture
def bank(project: Path) -> Path:
    file = project / "package" / "bank.py"
    file.parent.mkdir()
    file.write_text(TWO)
    return file


def names(items: list[Found | Problem]) -> list[str]:
    return [item.info.id if isinstance(item, Found) else str(code(item)) for item in items]


def code(item: Found | Problem) -> str:
    assert isinstance(item, Problem)
    assert item.result.reason is not None
    return item.result.reason.code.value


def find(
    project: Path, *targets: str, settings: Settings | None = None, ignore_empty: bool = False
) -> list[str]:
    return names(find_targets(targets, project, settings or Settings(), ignore_empty=ignore_empty))


def test_the_current_folder_is_the_default(project: Path, bank: Path) -> None:
    assert find(project) == ["package/bank.py::first", "package/bank.py::second"]


def test_a_model_can_be_named(project: Path, bank: Path) -> None:
    assert find(project, "package/bank.py::second") == ["package/bank.py::second"]


def test_a_path_may_be_seen_from_the_projects_root(project: Path, bank: Path) -> None:
    assert find(bank.parent, "package/bank.py::first") == ["package/bank.py::first"]


def test_what_is_named_twice_is_found_once(project: Path, bank: Path) -> None:
    assert find(project, "package/bank.py::first", "package") == [
        "package/bank.py::first",
        "package/bank.py::second",
    ]


def test_a_missing_path_is_a_problem_of_its_own(project: Path, bank: Path) -> None:
    assert find(project, "nowhere.py", "package/bank.py::first") == ["DPOR103", "package/bank.py::first"]


def test_a_missing_model_is_a_problem_with_the_nearest_name(project: Path, bank: Path) -> None:
    (item,) = find_targets(["package/bank.py::frist"], project, Settings())
    assert isinstance(item, Problem)
    assert item.result.reason is not None
    assert item.result.reason.code is Code.NOT_FOUND
    assert "did you mean 'first'?" in item.result.reason.fix


def test_a_path_without_models_is_a_problem_unless_that_is_wanted(project: Path) -> None:
    (project / "empty.py").write_text("import dpor\n")
    assert find(project, "empty.py") == ["DPOR104"]
    assert find(project) == ["DPOR104"]
    assert find(project, "empty.py", ignore_empty=True) == []


def test_a_file_that_is_not_python_leaves_the_others_alone(project: Path, bank: Path) -> None:
    (project / "broken.py").write_text("import dpor\n@dpor.model\ndef broken(:\n")
    assert find(project, "broken.py", "package") == [
        "DPOR101",
        "package/bank.py::first",
        "package/bank.py::second",
    ]


def test_a_broken_file_with_models_is_not_passed_over_in_a_folder(project: Path, bank: Path) -> None:
    (project / "broken.py").write_text("import dpor\n@dpor.model\ndef broken(:\n")
    assert "DPOR101" in find(project)


def test_excluded_files_are_left_out_of_folders(project: Path, bank: Path) -> None:
    assert find(project, settings=Settings(exclude=("package/*",))) == ["DPOR104"]
    assert find(project, "package/bank.py::first", settings=Settings(exclude=("package",))) == [
        "package/bank.py::first"
    ]


def test_options_of_the_command_line_win_over_the_model_and_that_over_the_project(
    project: Path, bank: Path
) -> None:
    settings = Settings(options={"timeout": 9.0, "seed": 1})
    found = find_targets(["package/bank.py"], project, settings)
    first, second = plan(found, Overrides(options={"k": 7}, settings=settings))
    assert not isinstance(first, Problem)
    assert not isinstance(second, Problem)
    assert first.request.options == {"timeout": 9.0, "seed": 1, "k": 7}
    assert second.request.options == {"seed": 1, "k": 7}


def test_a_parameter_is_set_where_it_exists(project: Path, bank: Path) -> None:
    found = find_targets(["package/bank.py"], project, Settings())
    first, second = plan(found, Overrides(assignments={"n": "4"}))
    assert not isinstance(first, Problem)
    assert not isinstance(second, Problem)
    assert (first.request.parameters, second.request.parameters) == ({"n": 4}, {})


def test_a_value_of_the_wrong_type_is_the_problem_of_its_model(project: Path, bank: Path) -> None:
    found = find_targets(["package/bank.py"], project, Settings())
    first, second = plan(found, Overrides(assignments={"n": "x"}))
    assert isinstance(first, Problem)
    assert code(first) == "DPOR106"
    assert not isinstance(second, Problem)
