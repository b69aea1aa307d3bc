"""Functions in C that the checker replaces are functions in C for the program, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpor.checking.check import check_model
from dpor.results import CheckRequest, Verdict

SOURCE = """
import _thread, builtins, collections, copy, dataclasses, functools, gc, inspect, io, itertools, os, pickle, random
import sys, threading, time, types
import dpor

FUNCTIONS = [
    time.sleep, time.time, time.monotonic, time.perf_counter_ns, time.process_time, time.gmtime, time.strftime,
    threading.get_ident, threading.get_native_id, _thread.interrupt_main, _thread.start_new_thread, os.getcwd, os.stat,
    os.urandom, os.open, open, id, gc.enable, gc.set_threshold, sys.setrecursionlimit,
]

@dpor.model
def they_are_of_the_same_kind():
    for function in FUNCTIONS:
        assert type(function) is types.BuiltinFunctionType
        assert inspect.isbuiltin(function) and not inspect.isfunction(function)
        assert repr(function) == f"<built-in function {function.__name__}>"
        assert function.__qualname__ == function.__name__
        assert isinstance(function.__self__, types.ModuleType)
        assert not hasattr(function, "__code__") and not hasattr(function, "__dict__")

@dpor.model
def they_are_known_by_name_to_pickle():
    for function in FUNCTIONS:
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function

@dpor.model
def one_function_is_the_same_in_every_module():
    assert threading.get_ident is _thread.get_ident
    assert open is io.open is builtins.open
    assert time.time != time.monotonic and {time.time: 1, time.monotonic: 2}[time.monotonic] == 2

class Settings:
    clock = time.monotonic
    pause = time.sleep
    draw = random.random
    choose = random.choice
    thread = threading.get_ident
    folder = os.getcwd
    opener = open
    number = id

@dpor.model
def they_do_not_bind_the_objects_of_a_class_that_has_them():
    settings = Settings()
    before = settings.clock()
    settings.pause(0.01)
    assert settings.clock() - before >= 0.01
    assert 0 <= settings.draw() < 1
    assert settings.choose([3]) == 3
    assert settings.thread() == threading.get_ident()
    assert settings.folder() == os.getcwd()
    assert settings.number(settings) == id(settings)
    try:
        settings.opener("nowhere")
        assert False
    except FileNotFoundError:
        pass

@dpor.model
def functions_of_random_are_methods_of_its_generator():
    assert inspect.ismethod(random.randint) and random.randint.__self__ is random._inst
    assert random.randint.__qualname__ == "Random.randint"

@dataclasses.dataclass
class Record:
    made: float = dataclasses.field(default_factory=time.monotonic)

@dpor.model
def whatever_calls_them_calls_the_stand_in():
    before = time.monotonic()
    told = [
        Record().made,
        collections.defaultdict(time.monotonic)[1],
        functools.partial(time.monotonic)(),
        next(iter(time.monotonic, None)),
        *itertools.starmap(time.monotonic, [()]),
        time.monotonic.__call__(),
    ]
    assert all(before <= moment <= time.monotonic() for moment in told)

@dpor.model
def they_can_be_what_a_thread_runs():
    threads = [
        threading.Thread(target=time.sleep, args=(0.01,)),
        threading.Thread(target=functools.partial(time.sleep, 0.02)),
    ]
    before = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0.02 <= time.monotonic() - before

@dpor.model
def a_call_that_does_not_fit_is_a_type_error():
    for call in (lambda: time.sleep(), lambda: time.sleep(1, 2), lambda: os.getcwd(1), lambda: time.monotonic(x=1)):
        try:
            call()
            assert False
        except TypeError:
            pass
"""
MODELS = [
    line.removeprefix("def ").removesuffix("():")
    for before, line in zip(SOURCE.splitlines(), SOURCE.splitlines()[1:], strict=False)
    if before == "@dpor.model"
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("functions") / "functions_in_c.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("model", MODELS)
def test_a_model_finds_functions_in_c(source: Path, model: str) -> None:
    result = check_model(CheckRequest(str(source), model, str(source.parent)))
    assert result.verdict is Verdict.VERIFIED, result.violations or result.error


def test_plain_python_finds_the_same(source: Path) -> None:
    calls = "\n".join(f"functions_in_c.{model}()" for model in MODELS)
    run = subprocess.run(
        [sys.executable, "-c", f"import functions_in_c\n{calls}"],
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
