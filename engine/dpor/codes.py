"""Every code that a report can carry, with its one-line meaning.

The first digit says what kind of thing it is: 1 the model cannot be checked, 2 a violation, 3 an incomplete
check, 4 a schedule that does not fit, 5 something around the check (the cache, an expectation that is not met).
"""

from __future__ import annotations

import enum

DOCUMENTATION = "docs/codes.md"


class Code(enum.Enum):
    """A stable identifier of a finding; the value is what users see and search for."""

    SYNTAX_ERROR = "DPOR101"
    IMPORT_ERROR = "DPOR102"
    NOT_FOUND = "DPOR103"
    NO_MODELS = "DPOR104"
    BAD_OPTION = "DPOR105"
    BAD_PARAMETER = "DPOR106"
    NONDETERMINISTIC = "DPOR107"
    UNCONTROLLED = "DPOR108"
    UNSUPPORTED_PAIR = "DPOR109"
    UNSUPPORTED_CONSTRUCT = "DPOR110"
    WORKER_DIED = "DPOR111"
    OUT_OF_MEMORY = "DPOR112"
    INTERNAL_ERROR = "DPOR113"
    SOLVER_MISSING = "DPOR114"
    NOT_SYMBOLIC = "DPOR115"
    ASSUMED = "DPOR116"
    UNRUN = "DPOR117"
    PREDICATE = "DPOR118"
    NO_RESOURCES = "DPOR119"

    ASSERTION = "DPOR201"
    EXCEPTION = "DPOR202"
    DEADLOCK = "DPOR203"
    MISUSE = "DPOR204"
    DATA_RACE = "DPOR205"
    LIVELOCK = "DPOR206"

    MAX_STEPS = "DPOR301"
    MAX_EXECUTIONS = "DPOR302"
    PREEMPTION_BOUND = "DPOR303"
    TIMEOUT = "DPOR304"
    CANCELLED = "DPOR305"
    SAMPLED = "DPOR306"
    SOLVER_TIMEOUT = "DPOR307"

    BAD_SCHEDULE = "DPOR401"
    FOREIGN_SCHEDULE = "DPOR402"
    DIVERGED = "DPOR403"
    BAD_TRACE = "DPOR404"

    CACHE_CORRUPT = "DPOR501"
    UNEXPECTED = "DPOR502"
    ASSUMPTION = "DPOR503"
    WEAKENED = "DPOR504"

    @property
    def meaning(self) -> str:
        """One line that says what the code stands for."""
        return _MEANINGS[self]


_MEANINGS = {
    Code.SYNTAX_ERROR: "the file is not valid Python",
    Code.IMPORT_ERROR: "importing the model's file raised an exception",
    Code.NOT_FOUND: "no such file or model, or a file that cannot be read",
    Code.NO_MODELS: "the path holds no function marked @dpor.model",
    Code.BAD_OPTION: "an option has a value that it does not accept",
    Code.BAD_PARAMETER: "a model parameter does not exist or has a value of the wrong type",
    Code.NONDETERMINISTIC: "the model behaves differently when the same choices are made again",
    Code.UNCONTROLLED: "the model does something that cannot be controlled",
    Code.UNSUPPORTED_PAIR: "this algorithm does not support this memory model, or something that the model does",
    Code.UNSUPPORTED_CONSTRUCT: "the model uses a construct that cannot be checked",
    Code.WORKER_DIED: "the process that checked the model died",
    Code.OUT_OF_MEMORY: "the model used more memory than it may",
    Code.INTERNAL_ERROR: "dpor-lsp itself failed; this is a bug in it",
    Code.SOLVER_MISSING: "the model has symbolic values and no solver is installed",
    Code.NOT_SYMBOLIC: "a symbolic value with too many possible values is used where only a number can be",
    Code.ASSUMED: "the verdict rests on assumptions, which the option strict does not accept",
    Code.UNRUN: "calling the model's function does not run it: it makes a generator or an awaitable",
    Code.PREDICATE: "a predicate of wait_until does more than read",
    Code.NO_RESOURCES: "the system refuses what a check needs: files, processes or memory",
    Code.ASSERTION: "an assertion fails in some schedule",
    Code.EXCEPTION: "an exception leaves a thread in some schedule",
    Code.DEADLOCK: "some schedule ends with threads that wait for each other for ever",
    Code.MISUSE: "a synchronisation primitive is misused in some schedule",
    Code.DATA_RACE: "two threads access a variable without synchronisation and one of them writes",
    Code.LIVELOCK: "some schedule ends with a thread that goes round in a loop for ever, waiting for a change",
    Code.UNEXPECTED: "the model was expected to be violated and is verified",
    Code.MAX_STEPS: "an execution reached max_steps",
    Code.MAX_EXECUTIONS: "the check reached max_executions",
    Code.PREEMPTION_BOUND: "schedules beyond preemption_bound were left out",
    Code.TIMEOUT: "the check reached its timeout",
    Code.CANCELLED: "the check was cancelled",
    Code.SAMPLED: "schedules were drawn at random, which proves nothing",
    Code.SOLVER_TIMEOUT: "the solver gave up on a symbolic branch",
    Code.BAD_SCHEDULE: "the text is not a schedule",
    Code.FOREIGN_SCHEDULE: "the schedule belongs to another model",
    Code.DIVERGED: "the model's code no longer follows the schedule",
    Code.BAD_TRACE: "the file is not a recorded trace that this version can show",
    Code.ASSUMPTION: "the verdict rests on an assumption",
    Code.WEAKENED: "the model can come to something that is neither interleaved nor refused",
    Code.CACHE_CORRUPT: "the result cache could not be read and was started afresh",
}
