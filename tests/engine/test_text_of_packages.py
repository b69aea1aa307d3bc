"""Packages that are looked into may make functions from text, as decorators do; what the text does is not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

MAKER = """
def made(name):
    variables = {{}}
    exec(f"def {{name}}(value): return value + 1", variables)
    return variables[name]

def evaluated(text):
    return eval(text, {{"one": 1}})
"""
MODEL = """
import threading
import dpor
{begin}

@dpor.model{options}
def model():
    found = []
    def work():
        found.append({call})
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3, 3]
"""


def check(folder: Path, begin: str, call: str, options: str = "") -> ModelResult:
    project = folder / "project"
    project.mkdir()
    file = project / "model.py"
    file.write_text(MODEL.format(begin=begin, call=call, options=options), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(project)))


@pytest.fixture
def package(tmp_path: Path, installed: Path) -> str:
    name = f"maker_{tmp_path.name}".replace("-", "_")
    (installed / f"{name}.py").write_text(MAKER.format(), encoding="utf-8")
    return name


@pytest.mark.parametrize("call", ["made('next')(2)", "evaluated('one + 2')"])
def test_a_package_that_is_looked_into_may_run_text(tmp_path: Path, package: str, call: str) -> None:
    result = check(tmp_path, f"import {package}", f"{package}.{call}", f"(instrument=('{package}',))")
    assert result.verdict is Verdict.VERIFIED
    named = [one.subject for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE]
    assert "<string>" in named


@pytest.mark.parametrize("call", ["made('next')(2)", "evaluated('one + 2')"])
def test_the_user_s_own_text_is_refused(tmp_path: Path, call: str) -> None:
    with pytest.raises(DporError, match="DPOR108"):
        check(tmp_path, MAKER.format(), call)
