"""Whatever a file or a value is, it costs its own result with a code and a place, and no other model's result.

All hostile files stand in one folder, which is checked at once in each format.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

INNOCENT = """\
import threading
import dpor


@dpor.model
def innocent():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
"""


def model(body: str = "pass", parameters: str = "", options: str = "") -> str:
    """A module with one model, whose decorator is in line 5."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import threading\nimport dpor\n\n\n@dpor.model({options})\ndef hostile({parameters}):\n{lines}"


def _text(body: str) -> str:
    return model(f"class Odd(Exception):\n    def __str__(self):\n        {body}\nraise Odd(7)")


_SUM = "value = 1\ntotal = " + "+".join(["value"] * 5000)
_INSTRUMENTED_SUM = "value = 1\ntotal = " + "+".join(["value"] * 900)
_ELIF = "value = 1\nif value == 0: pass\n" + "".join(f"elif value == {i}: pass\n" for i in range(10_000))
_CATCHING = "try:\n    import deep_sum\nexcept BaseException:\n    pass\n"
_IMPORT_ERRORS = {
    "keyboard": "raise KeyboardInterrupt",
    "exit": "raise SystemExit('\\ud800')",
    "generator exit": "raise GeneratorExit",
    "own": "raise type('Odd', (BaseException,), {})",
    "no text": "class Odd(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise Odd",
}

REFUSED: dict[str, tuple[str, str]] = {
    "deep sum": ("DPOR110", model(_SUM)),
    "deep instrumented sum": ("DPOR110", model(_INSTRUMENTED_SUM)),
    "deep default": ("DPOR110", model(parameters="value=" + "+".join(["1"] * 5000))),
    "deep attributes": ("DPOR110", model("dpor" + ".a" * 3000)),
    "deep calls": ("DPOR110", model("dpor" + "()" * 3000)),
    "deep elif": ("DPOR110", model(_ELIF)),
    "deep not": ("DPOR110", model("value = " + "not " * 5000 + "1")),
    "deep lambda": ("DPOR110", model("value = " + "lambda: " * 3000 + "1")),
    "deep import that is caught": ("DPOR110", _CATCHING + model()),
    "deep import that the model catches": ("DPOR110", model(_CATCHING)),
    "null": ("DPOR101", model() + "\0"),
    "unknown coding": ("DPOR101", "# coding: no-such\n" + model()),
    "coding of no text": ("DPOR101", "# coding: hex\n" + model()),
    "unhashable default": ("DPOR102", model(parameters="value={[]: 1}")),
    "unhashable option": ("DPOR102", model(options="algorithm={[]: 1}")),
    "max_steps text": ("DPOR105", model(options="max_steps=2**64")),
    "max_steps": ("DPOR105", model(options=f"max_steps={2**64}")),
    "max_executions": ("DPOR105", model(options=f"max_executions={2**63}")),
    "k": ("DPOR105", model(options=f"algorithm='unfolding', k={10**20}")),
    "preemption_bound": ("DPOR105", model(options=f"preemption_bound={2**64}")),
    "seed": ("DPOR105", model(options="seed=-1")),
    "long timeout": ("DPOR105", model(options="timeout=1e308")),
    "infinite timeout": ("DPOR105", model(options="timeout=1e999")),
    "timeout that is no number": ("DPOR105", model(options="timeout=float('nan')")),
    "timeout of 400 digits": ("DPOR105", model(options=f"timeout={'9' * 400}")),
    "solver_timeout": ("DPOR105", model(options="solver_timeout=1e308")),
    "instrument number": ("DPOR105", model(options="instrument=3")),
    "instrument list": ("DPOR105", model(options="instrument=[1, 'a']")),
    "instrument set": ("DPOR105", model(options="instrument={1, 'a'}")),
    "instrument dots": ("DPOR105", model(options="instrument='a..b'")),
    "instrument surrogate": ("DPOR105", model(options="instrument='\\ud800'")),
    "no function": ("DPOR110", "import dpor\n\n\n@dpor.model(3)\ndef hostile():\n    pass\n"),
    "builtins": ("DPOR110", "__builtins__ = {}\n" + model()),
    "no builtins": ("DPOR110", model() + "del __builtins__\n"),
    "builtins in the model": ("DPOR110", model("global __builtins__\n__builtins__ = None")),
    "ended process": ("DPOR111", model() + "import os\nos._exit(0)\n"),
    "memory": ("DPOR112", model() + "raise MemoryError\n"),
    **{name: ("DPOR102", f"{model()}{text}\n") for name, text in _IMPORT_ERRORS.items()},
}
# Later versions of CPython have a limit of their own for nested calls in C.
_NESTS_IN_C = sys.platform == "linux" and sys.version_info < (3, 12)


def _nested(depth: int) -> str:
    head = "import functools, sys\n@functools.cache\ndef nested(n): return n and nested(n - 1)\n"
    return head + model(f"sys.setrecursionlimit(1_000_000)\nnested({depth})")


if _NESTS_IN_C:
    REFUSED["calls that use up the stack"] = ("DPOR111", _nested(500_000))
VERIFIED: dict[str, str] = {
    "default of 400 digits": model(parameters=f"value={'9' * 400}"),
    "default of 6000 digits": model(parameters=f"value=0x{'f' * 6000}"),
    "computed default of 6000 digits": model(parameters="value=10**6000"),
    "infinite default": model(parameters="value=1e999"),
    "recursive default": "values = []\nvalues.append(values)\n" + model(parameters="value=values"),
    "default whose repr fails": "class Odd:\n    def __repr__(self): raise KeyError\n"
    + model(parameters="a=Odd()"),
    "surrogate default": model(parameters="value='\\ud800'"),
    "largest options": model(options=f"max_steps={2**63 - 1}, max_executions={2**63 - 1}, timeout=10**9"),
    "largest preemption_bound": model(options=f"preemption_bound={2**63 - 1}"),
    "largest k": model(options=f"algorithm='unfolding', k={2**63 - 1}"),
    "no name": model() + "del __name__\n",
    "lines that an encoding makes": "# coding: unicode_escape\ntext = 3" + "\\n" * 9 + "\n" + model(),
    "own file deleted": model() + "import os\nos.remove(__file__)\n",
}
if _NESTS_IN_C:
    VERIFIED["calls that nest deep"] = _nested(8000)
VIOLATED: dict[str, tuple[str, str]] = {
    "text raises": ("DPOR202", _text("raise ValueError")),
    "text is none": ("DPOR202", _text("return None")),
    "text interrupts": ("DPOR202", _text("raise KeyboardInterrupt")),
    "text ends": ("DPOR202", _text("raise SystemExit")),
    "text recurs": ("DPOR202", _text("return str(self)")),
    "huge number": ("DPOR202", model("raise ValueError(10**6000)")),
    "huge number asserted": ("DPOR201", model("assert False, [10**6000]")),
    "surrogate": ("DPOR201", model("assert False, '\\ud800'")),
    "surrogate name": ("DPOR201", model("threading.current_thread().name = '\\ud800'\nassert False")),
    "surrogate thread": (
        "DPOR202",
        model("t = threading.Thread(target=lambda: 1 / 0, name='\\ud800')\nt.start()"),
    ),
    "repr recurs": (
        "DPOR202",
        model("class Odd:\n    def __repr__(self): return repr(self)\nraise ValueError(Odd())"),
    ),
    "class without a name": (
        "DPOR202",
        model(
            "class Meta(type):\n    @property\n    def __name__(self): raise KeyError\n"
            "class Odd(Exception, metaclass=Meta): pass\nraise Odd"
        ),
    ),
}


@dataclass(frozen=True)
class Checked:
    """The folder of all hostile files and the report of its check."""

    folder: Path
    exit_code: int
    results: dict[str, dict[str, Any]]


def run(folder: Path, form: str) -> subprocess.CompletedProcess[bytes]:
    """Check a folder."""
    command = [sys.executable, "-m", "dpor_lsp", "--check", "--format", form]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def file_of(name: str) -> str:
    """The file of a case."""
    return f"{name.replace(' ', '_')}.py"


def write(folder: Path, sources: dict[str, str]) -> Path:
    """Write hostile files and an innocent one."""
    (folder / "pyproject.toml").touch()
    (folder / "deep_sum.py").write_text(_INSTRUMENTED_SUM)
    (folder / "innocent.py").write_text(INNOCENT)
    for name, source in sources.items():
        (folder / file_of(name)).write_text(source)
    return folder


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """What the check of all cases says."""
    given = {**{name: source for name, (_, source) in (REFUSED | VIOLATED).items()}, **VERIFIED}
    folder = write(tmp_path_factory.mktemp("hostile"), given)
    done = run(folder, "json")
    document = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert document["exit_code"] == done.returncode
    return Checked(folder, done.returncode, {one["file"]: one for one in document["models"]})


def test_the_result_of_an_innocent_model_is_there(checked: Checked) -> None:
    assert checked.results["innocent.py"]["verdict"] == "verified"
    assert checked.exit_code == 2


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_checked_is_refused_with_a_place_and_a_hint(checked: Checked, name: str) -> None:
    result = checked.results[file_of(name)]
    reason = result["reason"]
    assert (result["verdict"], reason["code"]) == ("error", REFUSED[name][0])
    assert reason["location"]["file"] in (file_of(name), "deep_sum.py")
    assert reason["fix"]


@pytest.mark.parametrize("name", VERIFIED)
def test_what_is_odd_but_can_be_checked_is_verified(checked: Checked, name: str) -> None:
    assert checked.results[file_of(name)]["verdict"] == "verified"


@pytest.mark.parametrize("name", VIOLATED)
def test_a_failure_that_cannot_be_written_down_is_a_violation(checked: Checked, name: str) -> None:
    result = checked.results[file_of(name)]
    assert [one["code"] for one in result["violations"]] == [VIOLATED[name][0]]


@pytest.mark.parametrize("name", _IMPORT_ERRORS)
def test_what_a_module_raises_is_told_at_its_line(checked: Checked, name: str) -> None:
    last = len(REFUSED[name][1].splitlines())
    assert checked.results[file_of(name)]["reason"]["location"]["line"] == last


def test_the_text_of_an_exception_falls_back_to_its_arguments(checked: Checked) -> None:
    said = checked.results[file_of("text interrupts")]["violations"][0]["message"]
    assert said == "Odd: (7), whose text cannot be made"


@pytest.mark.parametrize("form", ["text", "junit", "sarif", "github"])
def test_every_format_tells_all_results_of_hostile_models(tmp_path: Path, form: str) -> None:
    chosen = {
        name: VIOLATED[name][1] for name in ("huge number", "surrogate", "surrogate thread", "text ends")
    }
    hostile = {name: REFUSED[name][1] for name in ("deep sum", "exit", "timeout of 400 digits")}
    done = run(write(tmp_path, {**chosen, **hostile}), form)
    text = done.stdout.decode()
    assert done.returncode == 2
    assert all(f"{file_of(name)[:-3]}" in text for name in (*chosen, *hostile))
    if form == "sarif":
        json.loads(text)
    elif form == "junit":
        assert "innocent" in [case.get("name") for case in ElementTree.fromstring(text).iter("testcase")]
    elif form == "text":
        assert "innocent.py::innocent  verified" in text
