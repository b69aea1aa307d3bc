"""What a recorder sees beside the operations themselves: state, local variables, who holds and who waits for what.

Values are sketched when they are seen and named when the execution is over, so that names are those of the report
whatever was looked at. Nothing here runs code of the user's classes, and nothing changes what the recorder knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, cast

from dpor.counterexample.names import is_namespace
from dpor.counterexample.operations import Operation
from dpor.counterexample.records import Site
from dpor.counterexample.values import Sketch, class_module, class_name, is_content

_MOST_FRAMES = 12
_MOST_LOCALS = 30
_MOST_GLIMPSED = 200
_OPTIMIZED = 0x1
_KEYED = frozenset(
    {
        Operation.LOAD,
        Operation.MISS,
        Operation.STORE,
        Operation.DELETE,
        Operation.BUFFER,
        Operation.FLUSH,
    }
)
_ATOMIC_RESULTS = frozenset(
    {
        Operation.ATOMIC_STORE,
        Operation.FLUSH,
        Operation.EXCHANGE,
        Operation.FETCH_ADD,
        Operation.FETCH_SUB,
        Operation.FETCH_OR,
        Operation.FETCH_AND,
    }
)


@dataclass(frozen=True)
class Call:
    """An active call with its local variables, in the order in which they were bound."""

    site: Site
    variables: tuple[tuple[str, Sketch], ...]


@dataclass(eq=False)
class Place:
    """Something that holds a value: the attribute or variable `key` of `owner`, or, without a key, `owner` itself.

    `initial` is the value before the first change (None: not there, or not seen); `current` the value now, and
    `container` the container that it is, if it is one that is shown by its content.
    """

    owner: object
    key: str | None
    initial: Sketch | None = None
    current: Sketch | None = None
    container: object = None
    lanes: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(frozen=True)
class PlaceChange:
    """A new value of a place (None: it is gone); `written` is False if it was only found changed."""

    place: Place
    after: Sketch | None
    written: bool = True


@dataclass(frozen=True)
class RunningTask:
    """The asyncio task that runs: the task itself and what its author calls it."""

    task: object
    name: str


@dataclass(frozen=True)
class Stuck:
    """A thread that cannot go on: what it is about to do, to what, and how many steps had been taken when it came."""

    thread: str
    operation: Operation
    target: object
    since: int


@dataclass(frozen=True)
class Observed:
    """What was seen of one step; `held` maps each thread to the locks it holds after it, outermost first."""

    lane: str
    calls: tuple[Call, ...]
    reads: tuple[Place, ...]
    changes: tuple[PlaceChange, ...]
    held: Mapping[str, tuple[object, ...]]
    stuck: tuple[Stuck, ...]


@dataclass(frozen=True)
class Task:
    """A task that was seen: its lane, its name, the first and the last step it took (counted from 0)."""

    lane: str
    thread: str
    name: str
    first: int
    last: int


class Observation:
    """Follows the state of an execution step by step.

    Arguments: `waiting_threads` gives the spawn paths of the threads that cannot go on now; `running_task` the
    asyncio task that runs (None: none does); `namespaces` the globals of the model's modules; `sequential` says
    that a read gives the last value written, as it does under sequential consistency.
    """

    def __init__(
        self,
        waiting_threads: Callable[[], Iterable[str]],
        running_task: Callable[[], RunningTask | None],
        namespaces: Callable[[], Iterable[dict[str, Any]]],
        *,
        sequential: bool = True,
    ) -> None:
        self._waiting_threads = waiting_threads
        self._running_task = running_task
        self._namespaces = namespaces
        self._sequential = sequential
        self.steps: list[Observed] = []
        self.waiting_calls: dict[tuple[str, int], tuple[str, tuple[Call, ...]]] = {}
        self._places: dict[tuple[int, str | None], Place] = {}
        self._tasks: dict[int, Task] = {}
        self._task_objects: list[object] = []
        self._globals: dict[tuple[int, str], object] = {}
        self._glimpsed: dict[int, tuple[object, Sketch]] = {}
        self._begun = False

    @property
    def places(self) -> list[Place]:
        """The places seen, in the order in which they were."""
        return list(self._places.values())

    @property
    def tasks(self) -> list[Task]:
        """The asyncio tasks seen, in the order in which they first took a step."""
        return list(self._tasks.values())

    def step(
        self,
        thread: str,
        operation: Operation,
        target: object,
        key: object,
        value: object,
        effect: tuple[bool, bool],
        sites: tuple[Site, ...],
        frames: Iterable[FrameType],
        held: Mapping[str, tuple[object, ...]],
        pending: Mapping[str, Stuck],
    ) -> None:
        """Take a step in, after its effect.

        `effect` is whether it reads and whether it writes data; `sites` and `frames` are its active calls, innermost
        first; `held` the locks of each thread; `pending` what each thread that may wait is about to do.
        """
        if not self._begun:
            self._begun = True
            self._remember_globals()
        # A store leaves its buffer at any time, whatever its thread is doing then.
        lane = thread if operation is Operation.FLUSH else self._lane(thread, len(self.steps))
        places, changes = self._accessed(operation, target, key, value, effect)
        if is_content(value):
            self._glimpse(value, Sketch.of(value))
        for place in places:
            place.lanes.setdefault(lane)
        calls = tuple(self._calls(sites, frames))
        self.steps.append(
            Observed(
                lane=lane,
                calls=calls,
                reads=tuple(places) if effect[0] else (),
                changes=tuple(changes),
                held=held,
                stuck=tuple(pending[path] for path in self._waiting_threads() if path in pending),
            )
        )

    def waiting(self, thread: str, step: int, sites: tuple[Site, ...], frames: Iterable[FrameType]) -> None:
        """Take in where a thread may have to wait, `step` steps having been taken."""
        self.waiting_calls[thread, step] = (self._lane(thread, None), tuple(self._calls(sites, frames)))

    def calls_of_traceback(self, sites: tuple[Site, ...], frames: Iterable[FrameType]) -> tuple[Call, ...]:
        """The calls of an exception's traceback, innermost first."""
        return tuple(self._calls(sites, frames))

    def _lane(self, thread: str, step: int | None) -> str:
        running = self._running_task()
        if running is None:
            return thread
        known = self._tasks.get(id(running.task))
        if known is None:
            count = sum(1 for other in self._tasks.values() if other.thread == thread)
            first = len(self.steps)
            known = Task(f"{thread}:{count + 1}", thread, running.name, first, first)
            self._task_objects.append(running.task)
        if step is not None:
            known = Task(known.lane, known.thread, known.name, known.first, step)
        self._tasks[id(running.task)] = known
        return known.lane

    def _remember_globals(self) -> None:
        for namespace in self._namespaces():
            for name, value in list(namespace.items()):
                if not name.startswith("__"):
                    self._globals[id(namespace), name] = Sketch.of(value)

    def _accessed(
        self, operation: Operation, target: object, key: object, value: object, effect: tuple[bool, bool]
    ) -> tuple[list[Place], list[PlaceChange]]:
        """The places that an operation accesses, and how it changes them."""
        if not operation.is_memory or target is None:
            return [], []
        if is_content(target) and not is_namespace(target):
            return self._access_container(target, effect[1] and operation is not Operation.BUFFER)
        if _is_atomic(target):
            return self._access_atomic(operation, target, key, value, effect[1])
        if operation in _KEYED and key is not None:
            return self._access_variable(operation, target, key, value)
        return [], []

    def _access_variable(
        self, operation: Operation, target: object, key: object, value: object
    ) -> tuple[list[Place], list[PlaceChange]]:
        name = key if type(key) is str else None
        if name is None or _is_atomic(value):
            # An item of an instance that is no built-in container: the instance's own methods say more. An atomic is
            # state by itself, and called after what holds it.
            return [], []
        place = self._places.get((id(target), name))
        if place is None:
            place = self._places[id(target), name] = Place(target, name)
            before = self._globals.get((id(target), name))
            place.initial = place.current = cast("Sketch | None", before)
            if operation is Operation.LOAD:
                place.initial = place.current = Sketch.of(value)
                place.container = value if is_content(value) else None
                return [place], []
        if operation is Operation.BUFFER:
            # Only its own thread sees it yet.
            return [place], []
        if operation is Operation.DELETE:
            return [place], [self._set(place, None, None)]
        if operation is Operation.MISS:
            gone = self._sequential and place.current is not None
            return [place], [self._set(place, None, None, written=False)] if gone else []
        sketch = Sketch.of(value)
        if operation in (Operation.STORE, Operation.FLUSH):
            return [place], [self._set(place, sketch, value)]
        if self._sequential and (place.current is None or not place.current.is_same(sketch)):
            return [place], [self._set(place, sketch, value, written=False)]
        return [place], []

    def _access_atomic(
        self, operation: Operation, target: object, key: Any, value: object, writes: bool
    ) -> tuple[list[Place], list[PlaceChange]]:
        place = self._places.get((id(target), None))
        if place is None:
            place = self._places[id(target), None] = Place(target, None)
            if operation is Operation.ATOMIC_LOAD:
                place.initial = place.current = Sketch.of(value)
            elif operation is Operation.COMPARE_EXCHANGE and value is True:
                place.initial = place.current = Sketch.of(key[0])
        if operation is Operation.COMPARE_EXCHANGE:
            if not writes:
                return [place], []
            return [place], [self._set(place, Sketch.of(key[1]), None)]
        if operation in _ATOMIC_RESULTS:
            return [place], [self._set(place, Sketch.of(value), None)]
        return [place], []

    def _access_container(self, target: object, writes: bool) -> tuple[list[Place], list[PlaceChange]]:
        direct = [place for place in self._places.values() if place.container is target]
        if not direct:
            place = self._places[id(target), None] = Place(target, None, container=target)
            glimpsed = self._glimpsed.get(id(target))
            place.current = glimpsed[1] if glimpsed is not None else None if writes else Sketch.of(target)
            place.initial = place.current
            direct = [place]
        if not writes:
            return direct, []
        changes: list[PlaceChange] = []
        for place in self._places.values():
            # A container may hold this one, so that its content shows the change too.
            if place.container is not None:
                sketch = Sketch.of(place.container)
                if place in direct or place.current is None or not place.current.is_same(sketch):
                    changes.append(self._set(place, sketch, place.container))
        return direct, changes

    def _set(
        self, place: Place, sketch: Sketch | None, value: object, *, written: bool = True
    ) -> PlaceChange:
        place.current = sketch
        place.container = value if value is not None and is_content(value) else None
        return PlaceChange(place, sketch, written)

    def _calls(self, sites: tuple[Site, ...], frames: Iterable[FrameType]) -> Iterator[Call]:
        for site, frame in zip(sites[:_MOST_FRAMES], frames, strict=False):
            yield Call(site, tuple(self._variables(frame)))

    def _variables(self, frame: FrameType) -> Iterator[tuple[str, Sketch]]:
        if not frame.f_code.co_flags & _OPTIMIZED:
            return
        named = (
            item for item in list(frame.f_locals.items()) if not item[0].startswith((".", "__dpor", "@"))
        )
        for name, value in itertools.islice(named, _MOST_LOCALS):
            sketch = self._variable(value)
            if sketch is None:
                continue
            if is_content(value):
                self._glimpse(value, sketch)
            yield name, sketch

    def _glimpse(self, container: object, sketch: Sketch) -> None:
        """Remember what a container held before anything was done to it."""
        if id(container) in self._glimpsed or len(self._glimpsed) < _MOST_GLIMPSED:
            self._glimpsed[id(container)] = (container, sketch)

    def _variable(self, value: object) -> Sketch | None:
        """The sketch of a local variable's value; of what it holds, if it is shared with an inner function."""
        if class_name(value) != "Cell" or class_module(value).partition(".")[0] != "dpor":
            return Sketch.of(value)
        cell = cast(Any, value)
        place = self._places.get((id(value), cell.name))
        if place is None and cell.cell_contents is None:
            return None
        return Sketch.of(cell.cell_contents)


def _is_atomic(value: object) -> bool:
    return class_name(value) == "Atomic" and class_module(value).partition(".")[0] == "dpor"
