"""What the checker imports of itself: all of it before a model runs, since an import is made of operations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODEL = """
import copy
import functools
import inspect
import pickle
import threading
import traceback
import weakref
from importlib.machinery import PathFinder

import dpor

class Point:
    x = 1

@dpor.model
def model():
    seen = []

    def work(lock, number):
        with lock:
            "{0.x} {1:>5}".format(Point(), number)
            seen.append(threading.get_ident() == number)
            copy.deepcopy({"a": [Point]})
        try:
            lock.acquire(timeout="soon")
        except TypeError:
            traceback.format_exc()
        condition = threading.Condition(lock)
        with condition, lock:
            condition.wait(0.1)
            repr(lock)
        inspect.signature(work)
        weakref.WeakKeyDictionary()[Point] = functools.partial(len, seen)
        assert PathFinder.find_spec("colorsys") is not None

    lock = threading.RLock()
    thread = threading.Thread(target=work, args=(lock, 1))
    thread.start()
    work(lock, 2)
    thread.join()
    pickle.dumps(seen)
    import colorsys
    import elsewhere
"""
CHECK = """
import sys

from dpor.checking import check_model
from dpor.results import CheckRequest
from dpor.runtime import current

imported = []

def note(event, arguments):
    if event == "import" and arguments[0].startswith("dpor") and current.active_host() is not None:
        imported.append(arguments[0])

sys.addaudithook(note)
sys.path.append(sys.argv[2])
result = check_model(CheckRequest("model.py", "model", sys.argv[1], options={"max_executions": 20}))
print(result.executions, [one.subject for one in result.assumptions if one.kind == "unseen-code"], imported)
"""


def test_no_module_of_the_checker_is_imported_while_a_model_runs(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "elsewhere.py").write_text("VALUE = 1\n")
    command = [sys.executable, "-c", CHECK, str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "20 [] []\n", done
