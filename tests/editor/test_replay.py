"""The debug adapter through VS Code's own test client, and the trace view in a real browser.

The tests themselves are in `replay/`, for Node; `npm ci` there installs what they need.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ReplayRequest
from dpor.tracing import trace_model
from dpor_lsp.trace import save_trace
from dpor_lsp.trace_view import render

HERE = Path(__file__).parent / "replay"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MODULES = HERE / "node_modules"


def load_subjects() -> dict[str, dict[str, str]]:
    spec = importlib.util.spec_from_file_location("editor_subjects", Path(__file__).parent / "subjects.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"violated": module.VIOLATED, "others": module.OTHERS}


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A folder with each model, and the trace and the page of those that are violated."""
    subjects = load_subjects()
    for name, code in {**subjects["violated"], **subjects["others"]}.items():
        (tmp_path / f"{name}.py").write_text(code)
    for name in subjects["violated"]:
        result = check_model(CheckRequest(f"{name}.py", "model", str(tmp_path)))
        schedule = result.violations[0].schedule
        document = trace_model(ReplayRequest(f"{name}.py", "model", str(tmp_path), schedule))
        save_trace(document, tmp_path / f"{name}.json")
        (tmp_path / f"{name}.html").write_text(render(document), encoding="utf-8")
    return tmp_path


def run_node(file: str, recordings: Path, **environment: str) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not MODULES.is_dir():
        pytest.skip(f"run npm ci in {HERE} first")
    paths = [path for path in sys.path if path]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "DPOR_TEST_PYTHON": sys.executable,
        "DPOR_TEST_FOLDER": str(recordings),
        **environment,
    }
    end = subprocess.run(
        [node, "--test", file], cwd=HERE, env=variables, capture_output=True, text=True, timeout=240
    )
    assert end.returncode == 0, end.stdout[-12000:] + end.stderr[-2000:]


def test_the_debug_adapter_serves_the_client_of_vs_code(recordings: Path) -> None:
    run_node("debug_adapter.test.mjs", recordings)


def test_the_trace_view_works_in_a_browser(recordings: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no chromium is installed")
    run_node("trace_view.test.mjs", recordings, DPOR_TEST_BROWSER=browser)
