"""Every option of a model, in one table: the decorator, the command line and the workers read it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dpor.errors import DporError


class Algorithm(enum.Enum):
    """How the schedules are explored: all of them, or some that are drawn at random (`random`, `pct`)."""

    EXHAUSTIVE = "exhaustive"
    RANDOM = "random"
    PCT = "pct"
    SOURCE = "source"
    OPTIMAL = "optimal"
    PARSIMONIOUS = "parsimonious"
    GRAPH = "graph"
    UNFOLDING = "unfolding"
    CONCOLIC = "concolic"
    VALUE_CENTRIC = "value-centric"


GRAPHS = frozenset({Algorithm.GRAPH, Algorithm.CONCOLIC})
"""The algorithms that explore execution graphs: those with constraint events, and those without."""


_IN_PARTS = frozenset(
    {
        Algorithm.EXHAUSTIVE,
        Algorithm.RANDOM,
        Algorithm.PCT,
        Algorithm.SOURCE,
        Algorithm.OPTIMAL,
        Algorithm.UNFOLDING,
    }
)
"""The algorithms that take an object of which operations change parts."""


class MemoryModel(enum.Enum):
    """Which writes a read may see."""

    SC = "sc"
    TSO = "tso"
    PSO = "pso"
    RC11 = "rc11"


_STORE_BUFFERS = frozenset(
    {
        Algorithm.EXHAUSTIVE,
        Algorithm.RANDOM,
        Algorithm.PCT,
        Algorithm.SOURCE,
        Algorithm.OPTIMAL,
        Algorithm.PARSIMONIOUS,
        *GRAPHS,
    }
)
SUPPORTED: Mapping[MemoryModel, frozenset[Algorithm]] = {
    MemoryModel.SC: frozenset(Algorithm),
    MemoryModel.TSO: _STORE_BUFFERS,
    MemoryModel.PSO: _STORE_BUFFERS,
    MemoryModel.RC11: GRAPHS,
}
"""Which algorithms the kernel has for a memory model; for those who have to know without the kernel."""


class Partition(enum.Enum):
    """What tells the graphs of `graph` and `concolic` apart: reads-from, with or without coherence order."""

    COHERENCE = "coherence"
    RF = "rf"


class Races(enum.Enum):
    """What to do about a data race."""

    IGNORE = "ignore"
    WARN = "warn"
    ERROR = "error"


class TaskOrder(enum.Enum):
    """In which order an event loop serves the tasks that are ready."""

    LOOP = "loop"
    ANY = "any"


class Primitives(enum.Enum):
    """What the queues of `queue` are in a check."""

    KERNEL = "kernel"
    LIBRARY = "library"


class Expectation(enum.Enum):
    """The verdict that the author of a model expects."""

    VERIFIED = "verified"
    VIOLATED = "violated"


@dataclass(frozen=True)
class ModelOptions:
    """The options of a model, checked; None where there is no bound, no wish or no such parameter.

    `k` says how many disabled events an alternative of `unfolding` has to be in conflict with; None for all.
    `timeout` is in seconds; `instrument` names packages whose accesses are visible operations too; `seed` is
    what randomness starts from; `solver_timeout` is how long the solver of symbolic branches may take for one
    answer, in seconds. `root` is the path of the root thread of `value-centric`; None stands for the first thread
    that `main` starts. `partition` belongs to `graph` and `concolic`. `strict` refuses a verdict that rests on
    assumptions.
    """

    memory_model: MemoryModel = MemoryModel.SC
    algorithm: Algorithm = Algorithm.OPTIMAL
    partition: Partition = Partition.COHERENCE
    root: str | None = None
    k: int | None = None
    max_steps: int = 10_000
    max_executions: int | None = None
    preemption_bound: int | None = None
    timeout: float | None = None
    expect: Expectation | None = None
    instrument: tuple[str, ...] = ()
    races: Races = Races.IGNORE
    spurious_wakeups: bool = False
    clock_jumps: int = 0
    cancellations: int = 0
    task_order: TaskOrder = TaskOrder.LOOP
    primitives: Primitives = Primitives.KERNEL
    seed: int = 0
    solver_timeout: float = 10.0
    strict: bool = False


class Kind(enum.Enum):
    """What sort of value an option takes."""

    CHOICE = "one of its choices"
    INTEGER = "an integer"
    SECONDS = "a number of seconds"
    FLAG = "True or False"
    NAMES = "a name or a sequence of names"
    THREAD = "the path of a thread, such as main.0"


@dataclass(frozen=True)
class Option:
    """One row of the table: name, sort of value, meaning, and what the value is limited to."""

    name: str
    kind: Kind
    help: str
    choices: type[enum.Enum] | None = None
    minimum: int | None = None
    maximum: int | None = None
    optional: bool = False
    unlimited: str | None = None

    @property
    def default(self) -> Any:
        """The value if none is given."""
        return _DEFAULTS[self.name]

    @property
    def choice_names(self) -> tuple[str, ...]:
        """The names of the choices; empty for other sorts of options."""
        return () if self.choices is None else tuple(choice.value for choice in self.choices)

    def check(self, value: Any) -> Any:
        """The value as `ModelOptions` holds it. Raises DporError BAD_OPTION."""
        if self.optional and (value is None or (self.unlimited is not None and value == self.unlimited)):
            return None
        if self.choices is not None:
            return self._check_choice(value, self.choices)
        if self.kind is Kind.NAMES:
            return self._check_names(value)
        if self.kind is Kind.THREAD:
            if not isinstance(value, str) or not re.fullmatch(r"main(\.\d{1,5})*", value):
                raise self._refusal(value)
            return value
        if self.kind is Kind.FLAG:
            if not isinstance(value, bool):
                raise self._refusal(value)
            return value
        number = int | float if self.kind is Kind.SECONDS else int
        if isinstance(value, bool) or not isinstance(value, number):
            raise self._refusal(value)
        # Not `value < minimum`: a NaN is to be refused as well.
        if self.minimum is not None and not value >= self.minimum:
            raise self._refusal(value, f"it must be at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise self._refusal(value, f"it must be at most {self.maximum}")
        if self.kind is Kind.SECONDS and value == 0:
            raise self._refusal(value, "it must be more than 0")
        return value

    def parse(self, text: str) -> Any:
        """The value that `text` stands for, as on the command line. Raises DporError BAD_OPTION."""
        value: Any = text
        try:
            if self.optional and text == "none":
                value = None
            elif self.kind is Kind.INTEGER and text != self.unlimited:
                value = int(text)
            elif self.kind is Kind.SECONDS:
                value = float(text)
            elif self.kind is Kind.FLAG:
                value = {"true": True, "false": False}.get(text.lower(), text)
            elif self.kind is Kind.NAMES:
                value = tuple(name.strip() for name in text.split(",") if name.strip())
        except ValueError as error:
            raise self._refusal(text) from error
        return self.check(value)

    def _check_names(self, value: Any) -> tuple[str, ...]:
        given: list[Any] = [value] if isinstance(value, str) else []
        if isinstance(value, list | tuple | set | frozenset):
            given = list(cast("Iterable[Any]", value))
        elif not given:
            raise self._refusal(value)
        names = [name for name in given if isinstance(name, str)]
        dotted = all(part.isidentifier() for name in names for part in name.split("."))
        if len(names) < len(given) or not dotted:
            raise self._refusal(value, "it must be a name that `import` takes, or a sequence of such names")
        return tuple(sorted(names) if isinstance(value, set | frozenset) else names)

    def _check_choice(self, value: Any, choices: type[enum.Enum]) -> enum.Enum:
        if isinstance(value, choices):
            return value
        for choice in choices:
            if choice.value == value:
                return choice
        names = ", ".join(self.choice_names)
        raise self._refusal(value, _suggest(value, self.choice_names) or f"it is one of {names}")

    def _refusal(self, value: Any, fix: str = "") -> DporError:
        from dpor.codes import Code
        from dpor.errors import DporError

        return DporError(
            Code.BAD_OPTION,
            f"{self.name}={shown_value(value)} is not accepted",
            fix or f"it must be {self.kind.value}",
        )


def shown_value(value: object) -> str:
    """A value as messages show it: shortened, and without running any code of its class."""
    from dpor.counterexample.values import class_name, describe

    return describe(value, class_name)


_LARGEST = 2**63 - 1
"""The largest number that the kernel takes everywhere."""
_MOST_JUMPS = 1000
_MOST_CANCELLATIONS = 1000
"""More jumps than any model can explore, and no more than a clock can make: a thousand years."""
_LONGEST = 10**9
"""The longest time in seconds: no timer of Python or of the system takes much more."""
_LONGEST_QUESTION = 4 * 10**6
"""The solver counts milliseconds in 32 bits."""

_DEFAULTS: Mapping[str, Any] = {item.name: item.default for item in fields(ModelOptions)}

OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        Option("memory_model", Kind.CHOICE, "which writes a read may see", MemoryModel),
        Option("algorithm", Kind.CHOICE, "how the schedules are explored", Algorithm),
        Option(
            "partition",
            Kind.CHOICE,
            "what tells the execution graphs of `graph` and `concolic` apart",
            Partition,
        ),
        Option("root", Kind.THREAD, "the root thread of algorithm value-centric", optional=True),
        Option(
            "k",
            Kind.INTEGER,
            "how far alternatives of `unfolding` look, or optimal for all the way",
            minimum=1,
            maximum=_LARGEST,
            optional=True,
            unlimited="optimal",
        ),
        Option(
            "max_steps", Kind.INTEGER, "longest execution, in visible operations", minimum=1, maximum=_LARGEST
        ),
        Option(
            "max_executions",
            Kind.INTEGER,
            "how many executions to explore",
            minimum=1,
            maximum=_LARGEST,
            optional=True,
        ),
        Option(
            "preemption_bound",
            Kind.INTEGER,
            "preemptions in an execution",
            minimum=0,
            maximum=_LARGEST,
            optional=True,
        ),
        Option("timeout", Kind.SECONDS, "how long to explore", minimum=0, maximum=_LONGEST, optional=True),
        Option("expect", Kind.CHOICE, "the verdict that is right for this model", Expectation, optional=True),
        Option("instrument", Kind.NAMES, "packages whose accesses are visible operations too"),
        Option("races", Kind.CHOICE, "what to do about a data race", Races),
        Option("spurious_wakeups", Kind.FLAG, "whether Condition.wait may return without a reason"),
        Option(
            "clock_jumps",
            Kind.INTEGER,
            "how often time may pass for each thread between two looks at a clock",
            minimum=0,
            maximum=_MOST_JUMPS,
        ),
        Option(
            "cancellations",
            Kind.INTEGER,
            "how often a task of asyncio that awaits something may be cancelled",
            minimum=0,
            maximum=_MOST_CANCELLATIONS,
        ),
        Option(
            "task_order",
            Kind.CHOICE,
            "whether tasks of asyncio go in the order of the loop or in any",
            TaskOrder,
        ),
        Option(
            "primitives",
            Kind.CHOICE,
            "whether operations of queues and pools and sections of locks are one step, or the library's code runs",
            Primitives,
        ),
        Option("seed", Kind.INTEGER, "what randomness starts from", minimum=0, maximum=_LARGEST),
        Option(
            "solver_timeout",
            Kind.SECONDS,
            "how long one question about symbolic values may take",
            minimum=0,
            maximum=_LONGEST_QUESTION,
        ),
        Option("strict", Kind.FLAG, "whether a verdict that rests on assumptions is refused"),
    )
}


def check_options(values: Mapping[str, Any]) -> ModelOptions:
    """The options that `values` (name to value) stand for. Raises DporError BAD_OPTION for a name or a value."""
    from dpor.codes import Code
    from dpor.errors import DporError

    checked: dict[str, Any] = {}
    for name, value in values.items():
        option = OPTIONS.get(name)
        if option is None:
            fix = _suggest(name, tuple(OPTIONS)) or f"the options are {', '.join(OPTIONS)}"
            raise DporError(Code.BAD_OPTION, f"a model has no option {shown_value(name)}", fix)
        checked[name] = option.check(value)
    options = ModelOptions(**checked)
    if options.k is not None and options.algorithm is not Algorithm.UNFOLDING:
        raise DporError(
            Code.BAD_OPTION,
            f"k={options.k} is not accepted: the algorithm {options.algorithm.value!r} has no k",
            "leave it out, or choose the algorithm 'unfolding'",
        )
    _check_graph(options)
    _check_value_centric(options)
    return options


def chooses_reads(options: ModelOptions) -> bool:
    """Whether loads have a reads-from choice, rather than read what is in memory or a store buffer."""
    relaxed = options.memory_model is not MemoryModel.SC or options.partition is Partition.RF
    return options.algorithm in GRAPHS and relaxed


def runs_library_queues(options: ModelOptions) -> bool:
    """Whether queues run on the library's own code, in which an algorithm by values tells what they hold."""
    return options.primitives is Primitives.LIBRARY or options.algorithm is Algorithm.VALUE_CENTRIC


def joins_sections(options: ModelOptions) -> bool:
    """Whether critical sections may be events: nobody counts the places at which threads are interrupted, asks what
    races, or lets time pass and waits end by themselves.
    """
    return (
        options.primitives is not Primitives.LIBRARY
        and options.races is Races.IGNORE
        and options.preemption_bound is None
        and not options.clock_jumps
        and not options.spurious_wakeups
    )


def runs_library_pools(options: ModelOptions) -> bool:
    """Whether futures and pools run on the library's own code: as primitives they are objects that several operations
    change in part, under no other memory model than `sc`, and order threads otherwise than by locks.
    """
    return (
        options.primitives is Primitives.LIBRARY
        or options.algorithm not in _IN_PARTS
        or options.memory_model is not MemoryModel.SC
        or options.races is not Races.IGNORE
    )


def waits_by_spinning(options: ModelOptions) -> bool:
    """Whether a wait for a predicate is a loop whose loads are operations like others."""
    return options.algorithm in (*GRAPHS, Algorithm.VALUE_CENTRIC)


def _check_graph(options: ModelOptions) -> None:
    from dpor.codes import Code
    from dpor.errors import DporError

    if options.partition is not Partition.COHERENCE and options.algorithm not in GRAPHS:
        raise DporError(
            Code.BAD_OPTION,
            f"partition={options.partition.value!r} is not accepted: it belongs to the algorithms 'graph' and "
            "'concolic'",
            "leave it out, or use --algorithm graph",
        )
    if not chooses_reads(options):
        return
    if options.races is not Races.IGNORE and options.memory_model is not MemoryModel.RC11:
        raise DporError(
            Code.BAD_OPTION,
            f"algorithm {options.algorithm.value!r} does not find data races under memory model "
            f"{options.memory_model.value!r} with partition {options.partition.value!r} "
            f"(races={options.races.value!r})",
            "leave races out, or use --algorithm optimal",
        )
    if options.preemption_bound is not None:
        raise DporError(
            Code.BAD_OPTION,
            f"algorithm {options.algorithm.value!r} takes no preemption_bound where loads read from a write of their "
            "choice: how often an order of the graph's events switches threads says nothing about the graph",
            "leave it out, or use --algorithm optimal with memory model sc, tso or pso",
        )


def _check_value_centric(options: ModelOptions) -> None:
    from dpor.codes import Code
    from dpor.errors import DporError

    if options.algorithm is not Algorithm.VALUE_CENTRIC:
        if options.root is not None:
            raise DporError(
                Code.BAD_OPTION,
                f"root={options.root!r} is not accepted: it belongs to algorithm 'value-centric'",
                "leave it out, or use --algorithm value-centric",
            )
        return
    if options.races is not Races.IGNORE:
        raise DporError(
            Code.BAD_OPTION,
            f"algorithm 'value-centric' does not find data races (races={options.races.value!r}): it leaves out "
            "schedules that differ in the order of accesses alone",
            "use --algorithm optimal",
        )
    if options.preemption_bound is not None:
        raise DporError(
            Code.BAD_OPTION,
            "algorithm 'value-centric' takes no preemption_bound: how often its schedules switch threads says nothing "
            "about those that they stand for",
            "use --algorithm optimal",
        )


def override(options: ModelOptions, values: Mapping[str, Any]) -> ModelOptions:
    """`options` with those in `values` (name to value) instead of its own. Raises DporError BAD_OPTION."""
    own = {name: getattr(options, name) for name in OPTIONS}
    if "algorithm" in values and "root" not in values and values["algorithm"] != options.algorithm.value:
        own["root"] = None
    if "algorithm" in values and "partition" not in values and values["algorithm"] != options.algorithm.value:
        own["partition"] = Partition.COHERENCE
    return check_options({**own, **values})


def _suggest(value: Any, known: tuple[str, ...]) -> str:
    import difflib

    near = difflib.get_close_matches(value, known, 1) if isinstance(value, str) else []
    return f"did you mean {near[0]!r}?" if near else ""
