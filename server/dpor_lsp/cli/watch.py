"""`--check --watch`: check again what a changed file accesses, until Ctrl-C."""

from __future__ import annotations

import queue
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from dpor.contents import Kind, key_of
from dpor.errors import DporError
from dpor.results import ModelResult
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.checker import Checker
from dpor_lsp.checking.fingerprint import Hasher, dependency_files
from dpor_lsp.checking.scheduler import Event, Finished, Interrupted, Job, Scheduler
from dpor_lsp.cli.arguments import Arguments
from dpor_lsp.cli.console import deliver, fail
from dpor_lsp.cli.display import LateDisplay
from dpor_lsp.cli.interrupts import interrupts_as_events
from dpor_lsp.cli.preparation import Skipped, make_checker, planned, run_root
from dpor_lsp.cli.report import Entry, ExitCode, Report
from dpor_lsp.cli.targets import Problem, split_target
from dpor_lsp.formats import text as format_text
from dpor_lsp.formats import wording

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

DEBOUNCE = 0.25
"""Seconds without a change after which changes are acted on: editors write a file in several steps."""
_CHANGES = frozenset({"created", "modified", "moved", "deleted", "closed"})
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


@dataclass(frozen=True)
class Changed:
    """A Python file was written, moved or deleted."""

    path: Path


@dataclass
class _State:
    """What is known of one model: how it is to be checked, its files as they were then, its result, its check."""

    target: CheckTarget
    stamps: dict[Path, str]
    job: Job | None = None
    result: ModelResult | None = None

    def holds(self, target: CheckTarget, hasher: Hasher) -> bool:
        """Return whether what is known, or being found out, also answers for `target` and the files as they are."""
        same_request = self.target.request == target.request
        return same_request and all(hasher.hash(path) == stamp for path, stamp in self.stamps.items())


def watch(arguments: Arguments) -> ExitCode:
    """Check, and check again when files change; returns when the user ends it."""
    root = run_root(arguments)
    checker = make_checker(arguments, root)
    events: queue.SimpleQueue[Event | Changed] = queue.SimpleQueue()
    with ExitStack() as stack:
        stack.callback(checker.close)
        scheduler = Scheduler(checker.jobs, events.put, checker.command)
        stack.callback(scheduler.close)
        observer = Observer()
        display = stack.enter_context(LateDisplay())
        session = WatchSession(arguments, root, checker, scheduler, observer, events, display)
        observer.start()
        stack.callback(observer.join)
        stack.callback(observer.stop)
        stack.enter_context(interrupts_as_events(lambda: events.put(Interrupted())))
        session.run()
    return ExitCode.EXPECTED


class _Handler(FileSystemEventHandler):
    """Puts changes of Python files and of pyproject.toml into the queue; runs in the observer's thread."""

    def __init__(self, events: queue.SimpleQueue[Event | Changed]) -> None:
        self._events = events

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Take in one event of the file system."""
        if event.is_directory or event.event_type not in _CHANGES:
            return
        for name in (event.src_path, event.dest_path):
            path = Path(str(name))
            if path.suffix == ".py" or path.name == "pyproject.toml":
                self._events.put(Changed(path))


class WatchSession:
    """The loop of `--watch`: one consumer of file changes, of the scheduler's events and of Ctrl-C."""

    def __init__(
        self,
        arguments: Arguments,
        root: Path,
        checker: Checker,
        scheduler: Scheduler,
        observer: BaseObserver,
        events: queue.SimpleQueue[Event | Changed],
        display: LateDisplay,
    ) -> None:
        self._arguments = arguments
        self._root = root
        self._checker = checker
        self._scheduler = scheduler
        self._observer = observer
        self._handler = _Handler(events)
        self._events = events
        self._display = display
        self._hasher = Hasher()
        self._skipped = Skipped()
        self._states: dict[str, _State] = {}
        self._problems: dict[str, Problem] = {}
        self._watched: dict[Path, bool] = {}
        self._changed: set[Path] = set()
        self._round_started = time.monotonic()

    def run(self) -> None:
        """Serve events until the user interrupts."""
        self._watch_targets()
        self._begin_round()
        deadline: float | None = None
        while True:
            # On some systems a wait without end cannot be interrupted.
            wait = 0.2 if deadline is None else max(0.0, min(0.2, deadline - time.monotonic()))
            try:
                event = self._events.get(timeout=wait) if wait else self._events.get_nowait()
            except queue.Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    deadline = None
                    self._begin_round()
                continue
            if isinstance(event, Interrupted):
                return
            if isinstance(event, Changed):
                self._changed.add(event.path)
                deadline = time.monotonic() + DEBOUNCE
                continue
            self._display.observe(event)
            if isinstance(event, Finished):
                self._take(event)

    def _begin_round(self) -> None:
        """Find the models anew and check those for which what is known no longer holds."""
        changed, self._changed = self._changed, set()
        first = not self._states and not self._problems
        try:
            items = planned(self._arguments, self._root, self._skipped)
        except DporError as error:
            self._display.pause()
            fail(error)
            return
        targets = {_key(item): item for item in items if isinstance(item, CheckTarget)}
        problems = {item.result.id: item for item in items if isinstance(item, Problem)}
        gone = [key for key in self._states if key not in targets]
        for key in gone:
            self._call_off(self._states.pop(key))
        stale = [
            item
            for key, item in targets.items()
            if key not in self._states or not self._states[key].holds(item, self._hasher)
        ]
        news = bool(gone) or problems != self._problems
        self._problems = problems
        if not stale and not news and not first:
            return
        self._round_started = time.monotonic()
        self._announce(changed)
        for problem in problems.values():
            self._print(Entry(problem.result, problem.root))
        for target in stale:
            self._check(target)
        self._finish_round()

    def _check(self, target: CheckTarget) -> None:
        former = self._states.get(_key(target))
        if former is not None:
            self._call_off(former)
        known = former.result.dependencies if former and former.result else ()
        stamps = {path: self._hasher.hash(path) for path in dependency_files(target, known)}
        state = _State(target, stamps)
        self._states[_key(target)] = state
        kept = self._checker.find(target)
        if kept is not None:
            self._settle(state, kept)
            return
        state.job = Job(target, self._checker.limits(target))
        self._scheduler.submit(state.job)

    def _take(self, event: Finished) -> None:
        state = self._states.get(_key(event.job.target))
        if state is None or state.job is not event.job:
            # A newer save has taken this check's place.
            return
        state.job = None
        self._checker.keep(state.target, event.result)
        self._settle(state, event.result)
        self._finish_round()

    def _settle(self, state: _State, result: ModelResult) -> None:
        state.result = result
        for path in dependency_files(state.target, result.dependencies):
            if path not in state.stamps:
                # As the check has found it: it may be another now.
                found = (result.contents.get(key_of(kind, str(path))) for kind in (Kind.FILE, Kind.NAMES))
                state.stamps[path] = next(filter(None, found), None) or self._hasher.hash(path)
                self._watch(path.parent, recursive=False)
        self._print(Entry(result, state.target.root))

    def _finish_round(self) -> None:
        if any(state.job is not None for state in self._states.values()):
            return
        entries = [Entry(item.result, item.root) for item in self._problems.values()]
        entries += [
            Entry(state.result, state.target.root)
            for state in self._states.values()
            if state.result is not None
        ]
        seconds = time.monotonic() - self._round_started
        self._display.pause()
        style = format_text.style_for(sys.stdout)
        text = format_text.summary(Report(tuple(entries), self._root, seconds), style)
        deliver(f"{text}watching for changes, Ctrl-C ends\n", None)

    def _call_off(self, state: _State) -> None:
        if state.job is not None:
            state.job.cancellation.cancel()
            state.job = None

    def _announce(self, changed: set[Path]) -> None:
        self._display.pause()
        terminal = sys.stdout.isatty()
        names = sorted(path.name for path in changed)
        more = f" and {wording.amount(len(names) - 3, 'other')}" if len(names) > 3 else ""
        what = f"{', '.join(names[:3])}{more} changed" if names else f"checking {self._root}"
        deliver(f"{_CLEAR if terminal else ''}--- {time.strftime('%H:%M:%S')} {what}\n", None)
        if not terminal:
            return
        # The screen was cleared: what is still wrong must stay in sight.
        for state in self._states.values():
            wrong = state.result is not None and not state.result.as_expected and state.job is None
            if wrong and state.result is not None and state.holds(state.target, self._hasher):
                self._print(Entry(state.result, state.target.root))

    def _print(self, entry: Entry) -> None:
        self._display.pause()
        deliver(format_text.entry(entry, format_text.style_for(sys.stdout)), None)

    def _watch_targets(self) -> None:
        for target in self._arguments.paths or (".",):
            path = Path(split_target(target)[0]).resolve()
            if path.is_dir():
                self._watch(path, recursive=True)
            else:
                self._watch(path.parent, recursive=False)
        self._watch(self._root, recursive=False)

    def _watch(self, folder: Path, *, recursive: bool) -> None:
        """Watch a folder, unless that is done already."""
        above = any(self._watched.get(parent) for parent in (folder, *folder.parents))
        if above or folder in self._watched or not folder.is_dir():
            return
        self._watched[folder] = recursive
        self._observer.schedule(self._handler, str(folder), recursive=recursive)


def _key(target: CheckTarget) -> str:
    return f"{target.path}::{target.info.name}"
