"""What a program asks objects of the library about themselves is answered as plain Python answers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking.check import check_model
from dpor.results import CheckRequest, Verdict, ViolationKind

SOURCE = """
import _thread, asyncio, copy, functools, inspect, math, os, pathlib, pickle, queue, threading, types
import dpor

class K:
    @functools.cached_property
    def seven(self):
        return 7

@dpor.model
def a_cached_property_is_of_functools():
    assert type(vars(K)["seven"]).__module__ == "functools"
    assert repr(vars(K)["seven"]).startswith("<functools.cached_property object at ")
    assert K().seven == 7

CLASSES = [threading.Condition, threading.Event, threading.Semaphore, threading.BoundedSemaphore, queue.SimpleQueue]

@dpor.model
def classes_are_known_by_name_to_pickle():
    for known in CLASSES:
        assert pickle.loads(pickle.dumps(known)) is known
        assert copy.copy(known) is known and copy.deepcopy(known) is known

@dpor.model
def classes_can_be_made_of_them_without_a_class_statement():
    for known in CLASSES[:-1]:
        for made in (type("Own", (known,), {"own": 1}), types.new_class("Own", (known,), {}, lambda names: None)):
            assert made.__name__ == "Own" and issubclass(made, known) and isinstance(made(), known)
            assert type(made) is type
    assert type("Own", (threading.Event,), {"own": 1})().own == 1

@dpor.model
def what_makes_a_lock_is_of_the_kind_that_it_is():
    makers = [threading.RLock, _thread.allocate_lock]
    if not isinstance(threading.Lock, type):
        assert threading.Lock is _thread.allocate_lock
        assert inspect.isbuiltin(threading.Lock) and inspect.isfunction(threading.RLock)
        assert repr(threading.Lock) == "<built-in function allocate_lock>"
        makers.append(threading.Lock)
    for make in makers:
        assert type(make) in (types.FunctionType, types.BuiltinFunctionType)
        with make():
            pass
        try:
            isinstance(1, make)
            assert False
        except TypeError:
            pass
    try:
        _thread.allocate_lock(1)
        assert False
    except TypeError:
        pass

@dpor.model
def the_main_thread_is_known_by_its_class():
    seen = []
    def look():
        seen.append(isinstance(threading.main_thread(), threading._MainThread))
        seen.append(isinstance(threading.current_thread(), threading._MainThread))
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    look()
    assert seen == [True, False, True, True]
    assert type(threading.main_thread()) is threading._MainThread

@dpor.model
def errors_name_paths_as_text():
    calls = (
        lambda path: path.unlink(), lambda path: path.stat(), open, lambda path: os.open(path, os.O_RDONLY),
        lambda path: list(path.iterdir()), lambda path: path.read_text(), os.scandir, os.listdir, os.rmdir,
    )
    for call in calls:
        try:
            call(pathlib.Path("nope"))
            assert False
        except FileNotFoundError as error:
            assert (error.filename, error.filename2) == ("nope", None)
            assert str(error).endswith(": 'nope'")

@dpor.model
def errors_name_both_paths_as_text():
    try:
        os.rename(pathlib.Path("nope"), pathlib.Path("other"))
        assert False
    except FileNotFoundError as error:
        assert (error.filename, error.filename2) == ("nope", "other")
        assert str(error).endswith(": 'nope' -> 'other'")

@dpor.model
def an_infinite_sleep_outlives_every_other():
    async def main():
        try:
            await asyncio.wait_for(asyncio.sleep(math.inf), 1)
            assert False
        except asyncio.TimeoutError:
            pass
        endless = asyncio.create_task(asyncio.sleep(math.inf))
        await asyncio.sleep(1)
        assert not endless.done()
        endless.cancel()
        try:
            await endless
            assert False
        except asyncio.CancelledError:
            pass
    asyncio.run(main())

@dpor.model
def an_infinite_time_out_never_comes():
    async def main():
        event = asyncio.Event()
        task = asyncio.create_task(asyncio.wait_for(event.wait(), math.inf))
        await asyncio.sleep(0.1)
        event.set()
        assert await task
    asyncio.run(main())

@dpor.model
def an_endless_timer_is_a_handle():
    async def main():
        handle = asyncio.get_running_loop().call_later(math.inf, print)
        assert handle.when() == math.inf
        handle.cancel()
        assert handle.cancelled()
    asyncio.run(main())
"""
ENDLESS = """
import asyncio, math
import dpor

@dpor.model
def endless():
    asyncio.run(asyncio.sleep(math.inf))
"""
MODELS = [line[4:-3] for line in SOURCE.split("\n") if line.startswith("def ")]


@pytest.mark.parametrize("primitives", ["kernel", "library"])
@pytest.mark.parametrize("model", MODELS)
def test_it_is_as_in_plain_python(tmp_path: Path, model: str, primitives: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE)
    result = check_model(CheckRequest(str(file), model, str(tmp_path), options={"primitives": primitives}))
    assert (result.verdict, result.violations) == (Verdict.VERIFIED, ())


def test_who_only_waits_for_an_infinite_sleep_waits_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(ENDLESS)
    result = check_model(CheckRequest(str(file), "endless", str(tmp_path)))
    assert [violation.kind for violation in result.violations] == [ViolationKind.DEADLOCK]
