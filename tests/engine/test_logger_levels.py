"""Whether a logger is enabled for a level: its cache is left out only where nobody can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HEAD = """
import dpor, logging, threading

LOG = logging.getLogger("levels")

class Loud(logging.Logger):
    def getEffectiveLevel(self): return 1

class Lists(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []
    def emit(self, record): self.texts.append(record.getMessage())

def spawn(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

@dpor.model
def model():
"""
ALGORITHMS = (
    "optimal",
    "source",
    "exhaustive",
    "parsimonious",
    "unfolding",
    "graph",
    "value-centric",
    "concolic",
)


def run(folder: Path, body: str, **options: object) -> ModelResult:
    (folder / "model.py").write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    return check_model(
        CheckRequest(file=str(folder / "model.py"), model="model", root=str(folder), options=options)
    )


@pytest.mark.parametrize("algorithm", [one for one in ALGORITHMS if one != "exhaustive"])
def test_threads_that_log_what_is_not_shown_are_explored_once(tmp_path: Path, algorithm: str) -> None:
    result = run(tmp_path, "spawn(*[lambda: (LOG.info('a'), LOG.debug('b'))] * 3)", algorithm=algorithm)
    assert (result.verdict, result.executions, result.assumptions) == (Verdict.VERIFIED, 1, ())


def test_threads_that_log_are_explored_in_the_orders_of_their_lines(tmp_path: Path) -> None:
    body = "LOG.handlers = [Lists()]\nLOG.propagate = False\nspawn(*[lambda: LOG.warning('a')] * 3)"
    result = run(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 6)


FOUND = {
    "logged before a level is set": "spawn(lambda: LOG.info('a'), lambda: LOG.setLevel(10))\nassert texts",
    "logged after a level is set": "spawn(lambda: LOG.info('a'), lambda: LOG.setLevel(10))\nassert not texts",
    "logged before all is disabled": "spawn(lambda: LOG.error('a'), lambda: logging.disable(50))\nassert not texts",
    "logged after all is disabled": "spawn(lambda: LOG.error('a'), lambda: logging.disable(50))\nassert texts",
    "an old answer of the cache beside the new level": """
LOG.info('a')
def look(): seen.append((LOG.level, LOG.isEnabledFor(20)))
spawn(look, lambda: LOG.setLevel(10))
assert seen != [(10, False)]""",
    "a parent's level before": "spawn(lambda: LOG.info('a'), lambda: logging.root.setLevel(10))\nassert texts",
    "a parent's level after": "spawn(lambda: LOG.info('a'), lambda: logging.root.setLevel(10))\nassert not texts",
    "a lock that is held by who waits for it": """
done = threading.Event()
def hold():
    with logging._lock: done.wait()
spawn(hold, lambda: (LOG.info('a'), done.set()))""",
}
NEVER = {
    "another answer after the first, if nobody clears the cache": """
def look(): seen.extend([LOG.isEnabledFor(20), LOG.isEnabledFor(20)])
def change(): LOG.level = 10
spawn(look, change)
assert seen[0] == seen[1]""",
    "an old answer after the level was set": """
def change():
    LOG.setLevel(10)
    seen.append(LOG.isEnabledFor(20))
spawn(lambda: LOG.isEnabledFor(20), change)
assert seen == [True]""",
    "a class that decides by itself": """
logger = Loud("loud")
spawn(*[lambda: seen.append(logger.isEnabledFor(5))] * 2)
assert seen == [True, True]""",
    "another answer after the threads have ended": """
spawn(*[lambda: seen.append(LOG.isEnabledFor(20))] * 2)
LOG.level = 10
seen.append(LOG.isEnabledFor(20))
assert seen == [False] * 3""",
}
PREPARE = "seen, lists = [], Lists()\ntexts = lists.texts\nLOG.handlers = [lists]\nLOG.propagate = False\n"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("body", FOUND.values(), ids=FOUND)
def test_what_can_happen_is_found(body: str, algorithm: str, tmp_path: Path) -> None:
    assert run(tmp_path, PREPARE + body.strip(), algorithm=algorithm).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("body", NEVER.values(), ids=NEVER)
def test_what_cannot_happen_is_not_found(body: str, algorithm: str, tmp_path: Path) -> None:
    assert run(tmp_path, PREPARE + body.strip(), algorithm=algorithm).verdict is Verdict.VERIFIED
