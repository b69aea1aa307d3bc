"""Symbolic values in checks: the counts of the ConDPOR paper, refusals, counterexamples and their replay."""

from __future__ import annotations

import ast
import subprocess
import sys
from math import factorial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("z3")
checking = pytest.importorskip("dpor.checking", reason="the engine is not built")

from dpor.codes import Code  # noqa: E402
from dpor.counterexample.schedule import decode  # noqa: E402
from dpor.counterexample.text import render  # noqa: E402
from dpor.errors import DporError  # noqa: E402
from dpor.results import CheckRequest, ModelResult, Verdict  # noqa: E402

FILE = Path(__file__).with_name("models.py")
ENGINE = Path(checking.__file__).parent.parent


def check(model: str, parameters: dict[str, Any] | None = None, **options: Any) -> ModelResult:
    request = CheckRequest(
        file=str(FILE),
        model=model,
        root=str(FILE.parent),
        parameters=parameters or {},
        options=options,
        all_violations=True,
    )
    return checking.check_model(request)


def counts(result: ModelResult) -> tuple[int, int, int]:
    return result.executions, result.blocked, result.redundant


ALGORITHMS = ["optimal", "concolic", "source"]


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "exhaustive"])
def test_the_examples_of_the_paper_have_its_numbers_of_executions(algorithm: str) -> None:
    assert check("write_symbolic_write_and_two_reads", algorithm=algorithm).executions == 6
    assert check("read_symbolic_and_write", algorithm=algorithm).executions == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_a_sorted_list_has_every_order_of_threads_with_every_order_of_values(
    threads: int, algorithm: str
) -> None:
    result = check("coarse_list", {"threads": threads}, algorithm=algorithm)
    assert counts(result) == (factorial(threads) ** 2, 0, 0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_values_that_nobody_compares_cost_nothing(threads: int, algorithm: str) -> None:
    result = check("locked_queue", {"threads": threads}, algorithm=algorithm)
    assert counts(result) == (factorial(threads), 0, 0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_time_stamps_are_only_ordered_where_they_are_compared(threads: int, algorithm: str) -> None:
    result = check("push_and_pop", {"threads": threads}, algorithm=algorithm)
    assert counts(result) == (2 ** (threads - 1), 0, 0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_branches_of_threads_on_one_value_are_explored_as_far_as_they_agree(algorithm: str) -> None:
    # a > 42: both orders of the read and the write; 0 < a <= 42: the same, blocked; a <= 0: no write.
    result = check("shared_symbolic_value", algorithm=algorithm)
    assert (result.executions, result.blocked) == (2, 3)
    assert result.redundant == 0 or algorithm == "source"


@pytest.mark.parametrize(
    "model", ["priorities", "indexed", "exchanged", "logged", "repeated", "sorted_cells"]
)
def test_models_that_hold_for_all_values_are_verified(model: str) -> None:
    result = check(model)
    assert result.verdict is Verdict.VERIFIED, result.violations or result.reason
    assert result.redundant == 0


def test_built_in_code_that_compares_stays_one_operation_where_a_graph_is_run_again() -> None:
    results = [check("looked_for_in_cells", algorithm=algorithm) for algorithm in ("optimal", "concolic")]
    assert [result.verdict for result in results] == [Verdict.VERIFIED] * 2
    assert counts(results[0]) == counts(results[1])


def test_a_graph_that_shows_what_is_not_decided_yet_is_refused() -> None:
    assert check("seen_before_decided", algorithm="optimal").verdict is Verdict.VERIFIED
    with pytest.raises(DporError) as caught:
        check("seen_before_decided", algorithm="concolic")
    assert caught.value.code is Code.UNSUPPORTED_CONSTRUCT
    assert "--algorithm optimal" in caught.value.fix
    assert caught.value.span is not None


@pytest.mark.parametrize("model", ["exchanges_a_symbolic_value", "expects_a_symbolic_value"])
def test_an_exchange_that_may_fail_to_write_is_refused_where_that_orders_less(model: str) -> None:
    for memory_model in ("sc", "tso", "pso"):
        assert check(model, algorithm="concolic", memory_model=memory_model).verdict is Verdict.VERIFIED
    with pytest.raises(DporError) as caught:
        check(model, algorithm="concolic", memory_model="rc11")
    assert caught.value.code is Code.UNSUPPORTED_CONSTRUCT
    assert "dpor.choose" in caught.value.fix
    assert caught.value.span is not None
    assert "compare_exchange" in FILE.read_text().splitlines()[caught.value.span.line - 1]


def test_an_unbounded_index_takes_each_place_of_the_list_once_or_none() -> None:
    # Two ends out of range, and three places by two names each.
    assert check("indexed").executions == 2 + 6


def test_a_message_decides_nothing() -> None:
    assert check("logged").executions == 1


def test_a_text_of_a_bounded_value_is_one_of_its_numbers() -> None:
    result = check("worded_within_bounds")
    assert result.executions == 3
    assert [dict(violation.values) for violation in result.violations] == [{"n": 5}]


@pytest.mark.parametrize(
    ("model", "code", "line_holds"),
    [
        ("worded", Code.NOT_SYMBOLIC, 'if str(n) == "5":'),
        ("repeated_without_end", Code.NOT_SYMBOLIC, "for _ in range(n):"),
        ("awaited", Code.UNSUPPORTED_CONSTRUCT, "dpor.wait_until(lambda: shared.x + n == 3)"),
    ],
)
def test_what_would_need_a_number_for_every_value_is_refused_where_it_stands(
    model: str, code: Code, line_holds: str
) -> None:
    with pytest.raises(DporError) as caught:
        check(model)
    assert caught.value.code is code
    assert caught.value.fix
    assert caught.value.span is not None
    assert line_holds in FILE.read_text().splitlines()[caught.value.span.line - 1]


def test_an_algorithm_that_cannot_branch_refuses_symbolic_values() -> None:
    with pytest.raises(DporError) as caught:
        check("divided", algorithm="parsimonious")
    assert caught.value.code is Code.UNSUPPORTED_CONSTRUCT
    assert "--algorithm concolic" in caught.value.fix


def test_a_question_that_is_too_hard_leaves_the_check_incomplete() -> None:
    result = check("too_hard")
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason is not None
    assert result.reason.code is Code.SOLVER_TIMEOUT


def test_division_by_a_symbolic_zero_is_an_execution_of_its_own() -> None:
    result = check("divided")
    assert {violation.kind.value for violation in result.violations} == {"exception"}
    assert result.violations[0].message.startswith("ZeroDivisionError")
    assert dict(result.violations[0].values) == {"n": 0}
    assert result.violations[0].path_condition == ("n == 0",)


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_random_schedules_draw_sides_of_branches(algorithm: str) -> None:
    result = check("read_symbolic_and_write", algorithm=algorithm, max_executions=200)
    assert result.verdict is Verdict.VIOLATED
    assert dict(result.violations[0].values) == {"b": 42}


def test_a_counterexample_shows_values_and_what_of_them_matters() -> None:
    (violation,) = check("read_symbolic_and_write").violations
    assert violation.message == "assertion failed: a = 1, b = 42"
    assert (dict(violation.values), violation.path_condition) == ({"b": 42}, ("b == 42",))
    text = render(violation, width=100, color=False, root=FILE.parent)
    assert "with b = 42" in text
    assert "such that b == 42" in text
    steps = [(step.operation, step.target, step.choice) for step in decode(violation.schedule).steps]
    assert ("nondet", "b", 42) in steps
    assert ("branch", "b == 42", True) in steps


def run_without_solver(code: str) -> str:
    """What a process prints that cannot import z3."""
    header = f"""
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "z3":
            raise ModuleNotFoundError("No module named 'z3'", name="z3")

sys.meta_path.insert(0, Block())
FILE, ROOT = {str(FILE)!r}, {str(FILE.parent)!r}
"""
    ran = subprocess.run([sys.executable, "-c", header + code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip().splitlines()[-1]


def test_a_schedule_is_replayed_without_a_solver() -> None:
    (violation,) = check("read_symbolic_and_write").violations
    code = f"""
from dpor.counterexample.replay import replay_model
from dpor.results import ReplayRequest
request = ReplayRequest(file=FILE, model="read_symbolic_and_write", root=ROOT, schedule={violation.schedule!r})
result = replay_model(request)
print(result.divergence, result.violation.message, dict(result.violation.values))
"""
    assert run_without_solver(code) == "None assertion failed: a = 1, b = 42 {'b': 42}"


def test_a_schedule_that_made_numbers_of_values_is_replayed_without_a_solver() -> None:
    (violation,) = check("worded_within_bounds").violations
    code = f"""
from dpor.counterexample.replay import replay_model
from dpor.results import ReplayRequest
request = ReplayRequest(file=FILE, model="worded_within_bounds", root=ROOT, schedule={violation.schedule!r})
result = replay_model(request)
print(result.divergence, dict(result.violation.values))
"""
    assert run_without_solver(code) == "None {'n': 5}"


def test_a_missing_solver_is_named_with_the_command_that_installs_it() -> None:
    code = """
from dpor.checking import check_model
from dpor.errors import DporError
from dpor.results import CheckRequest
try:
    check_model(CheckRequest(file=FILE, model="divided", root=ROOT))
except DporError as error:
    print(error.code.value, error.span.line, error.fix)
"""
    line = next(
        number for number, text in enumerate(FILE.read_text().splitlines(), 1) if text == "def divided():"
    )
    expected = f"DPOR114 {line + 1} install it with: python -m pip install 'dpor-lsp[symbolic]'"
    assert run_without_solver(code) == expected


def test_only_the_solver_module_imports_z3() -> None:
    importing = set[str]()
    for file in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "z3" for name in names):
                importing.add(file.relative_to(ENGINE).as_posix())
    assert importing == {"symbolic/solver.py"}


def test_a_check_without_symbolic_values_does_not_load_the_solver(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import dpor\n\n@dpor.model\ndef plain():\n    dpor.choose([1, 2])\n")
    code = f"""
from dpor.checking import check_model
from dpor.results import CheckRequest
check_model(CheckRequest(file="plain.py", model="plain", root={str(tmp_path)!r}))
print("dpor.symbolic.solver" in sys.modules)
"""
    assert run_without_solver(code) == "False"
