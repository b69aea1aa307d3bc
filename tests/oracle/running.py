"""Runs a program's text under the scheduler, in this process."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any

from oracle.instructions import invisible_in
from oracle.scheduler import Carrier, Execution, Policy, Scheduler
from oracle.schedules import Effort, Observed, explore
from oracle.stand_ins import replaced

MODULE = "program_under_test"
_FRAME = ("program", "guard")


def observe(
    text: str,
    effort: Effort,
    seed: int,
    modules: Mapping[str, str] | None = None,
    carriers: list[Carrier] | None = None,
) -> Observed:
    """Run the function `program` of the text along many schedules. `modules` are first-party modules that it imports,
    by name, with their text; `carriers` what was left of earlier calls.
    """
    code = compile(text, f"{MODULE}.py", "exec", dont_inherit=True)
    others = {
        name: compile(source, f"{name}.py", "exec", dont_inherit=True)
        for name, source in (modules or {}).items()
    }
    scheduler = Scheduler(
        invisible_in(text + "".join((modules or {}).values())), [] if carriers is None else carriers
    )
    if effort.focused:
        scheduler.only = frozenset(f"{name}.py" for name in (MODULE, *others))
    scheduler.untraced |= {part for part in _constants(code) if part.co_name in _FRAME}

    stdout = sys.stdout

    def once() -> str:
        # Threads that redirect it at the same time can leave it redirected.
        sys.stdout = stdout
        for name, other in others.items():
            module = sys.modules[name] = ModuleType(name)
            exec(other, module.__dict__)
        module = sys.modules[MODULE] = ModuleType(MODULE)
        exec(code, module.__dict__)
        return module.program()

    def run(policy: Policy) -> Execution:
        execution = scheduler.run(once, policy)
        if not run_since_collection():
            gc.collect()
        return execution

    run_since_collection = _Countdown(200)
    before = {name: sys.modules.get(name) for name in (MODULE, *others)}
    gc.collect()
    gc.disable()
    try:
        with replaced(scheduler):
            # What is imported or computed late happens in this first execution, which does not count.
            scheduler.run(once, _FirstCome())
            return explore(run, effort, seed)
    finally:
        sys.stdout = stdout
        scheduler.forget()
        gc.enable()
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


class _FirstCome:
    stop = 1 << 60

    def preempt(self, number: int, current: int, others: tuple[int, ...]) -> int | None:
        return None

    def choose(self, number: int, enabled: tuple[int, ...]) -> int:
        return enabled[0]


class _Countdown:
    def __init__(self, length: int) -> None:
        self._length = self._left = length

    def __call__(self) -> int:
        self._left -= 1
        if self._left:
            return self._left
        self._left = self._length
        return 0


def _constants(code: CodeType) -> list[CodeType]:
    found: list[CodeType] = []
    todo: list[Any] = [code]
    while todo:
        value = todo.pop()
        if isinstance(value, CodeType):
            found.append(value)
            todo += value.co_consts
    return found
