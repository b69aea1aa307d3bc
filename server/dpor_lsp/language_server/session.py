"""All state of the language server: documents, files, models, what is being checked, and what is true of each."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types

from dpor.codes import Code
from dpor.discovery import find_model_files
from dpor.errors import DporError
from dpor.lines import split_lines
from dpor.results import ModelResult, SourceSpan
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.scheduler import Event
from dpor_lsp.language_server.checks import Checks
from dpor_lsp.language_server.client import Client
from dpor_lsp.language_server.documents import Document, path_of, uri_of
from dpor_lsp.language_server.planning import Plan, PlannedModel, Planner, PlanRequest
from dpor_lsp.language_server.positions import Edit, range_of
from dpor_lsp.language_server.publishing import Publisher
from dpor_lsp.language_server.records import STATE_OF, UNTRUSTED, FileRecord, ModelRecord, State, Wanted
from dpor_lsp.language_server.replaying import Replays
from dpor_lsp.language_server.running import Runner
from dpor_lsp.language_server.settings import CheckOn, EditorSettings
from dpor_lsp.language_server.text_changes import affected, move

DEBOUNCE = 0.25
"""Seconds without an edit after which a changed text is looked at."""

Value = TypeVar("Value")


class Session:
    """What one editor's connection knows. All methods run in the event loop's thread and never wait.

    Reading, parsing and the cache are the planner's, in a thread of its own; checks are the runner's, in processes.
    """

    def __init__(self, client: Client, runner_of: Callable[[Callable[[Event], None]], Runner]) -> None:
        self.client = client
        self.settings = EditorSettings()
        self.trusted = True
        self.folders: list[Path] = []
        self.documents: dict[Path, Document] = {}
        self.files: dict[Path, FileRecord] = {}
        self.replays = Replays(self)
        self.publisher = Publisher(client, self._version_of)
        self._uris: dict[Path, str] = {}
        self._edited: dict[Path, float] = {}
        self._unsaved: set[Path] = set()
        self._skipped: set[str] = set()
        self.planner = Planner(self.uri, self._warn)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="planner")
        self._scanner = ThreadPoolExecutor(1, thread_name_prefix="scanner")
        self._aside = ThreadPoolExecutor(2, thread_name_prefix="aside")
        self._timers: dict[Path, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.checks = Checks(self, runner_of)
        self._scan: asyncio.Task[None] | None = None

    # Life

    def start(self, folders: Iterable[Path]) -> None:
        """Begin to work in the event loop that runs."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._unexpected)
        self.folders = list(folders)

    def close(self) -> None:
        """End everything that runs; the session cannot be used afterwards."""
        self._loop = None
        self.checks.close()

    def configure(self, settings: EditorSettings) -> None:
        """Use other settings from now on; files that they make a difference to are planned again."""
        former, self.settings = self.settings, settings
        self.checks.resize(settings.jobs)
        for problem in settings.problems:
            if problem not in former.problems:
                self.client.say(f"dpor: {problem}", types.MessageType.Warning)
        if settings != former:
            self._plan_all()

    def trust(self, trusted: bool) -> None:
        """Execute code of the workspace from now on, or stop doing so."""
        if trusted == self.trusted:
            return
        self.trusted = trusted
        for record in self.records():
            if not trusted:
                self.checks.call_off(record, State.UNCHECKED)
                record.result = None
                record.note = UNTRUSTED
                self.publisher.show(record, ())
        self._plan_all()

    def records(self) -> list[ModelRecord]:
        """Every model that is known."""
        return [record for file in self.files.values() for record in file.models.values()]

    def uri(self, path: Path) -> str:
        """The address of a file, in the client's spelling where it has named it."""
        return self._uris.get(path) or uri_of(path)

    def file_of(self, uri: str) -> FileRecord | None:
        """What is known of the document at this address."""
        path = path_of(uri)
        return None if path is None else self.files.get(path)

    def model(self, uri: str, name: str) -> ModelRecord | None:
        """A model by its document and name."""
        file = self.file_of(uri)
        return None if file is None else file.models.get(name)

    # Documents

    def opened(self, document: Document) -> None:
        """An editor shows a document."""
        if document.path in self.documents:
            # It was opened before: this is what it holds now.
            self.changed(document, [None])
            return
        self._uris[document.path] = document.uri
        self.documents[document.path] = document
        self.want(document.path, Wanted(run=self.settings.check_on is not CheckOn.MANUAL))

    def changed(self, document: Document, edits: Sequence[Edit | None]) -> None:
        """A document has another text: what was known of it is stale from this moment on."""
        self.documents[document.path] = document
        self._edited[document.path] = time.time()
        self._unsaved.add(document.path)
        move(self, document.uri, edits)
        for file in affected(self, document.path):
            for record in file.models.values():
                self.checks.outdate(record)
            self.publisher.changed(file)
            run = self.settings.check_on is CheckOn.TYPE
            self.want(file.path, Wanted(run=run), DEBOUNCE)

    def saved(self, path: Path) -> None:
        """A document has been written to its file."""
        self._unsaved.discard(path)
        if self.settings.check_on is CheckOn.MANUAL:
            return
        for file in affected(self, path):
            self.want(file.path, Wanted(run=True))

    def closed(self, path: Path) -> None:
        """A document is no longer shown: its file is what counts again."""
        self.documents.pop(path, None)
        self._edited[path] = time.time()
        self._unsaved.discard(path)
        for dependent in affected(self, path):
            if dependent.path != path:
                # What was checked may have been a text that was never saved.
                self.want(dependent.path, Wanted())
        file = self.files.get(path)
        if file is None:
            return
        for record in file.models.values():
            if record.state.is_busy:
                self.checks.call_off(record, State.STALE if record.result is not None else State.UNCHECKED)
        self.replays.stop(file.uri)
        self.want(path, Wanted())

    def files_changed(self, paths: Iterable[Path]) -> None:
        """Files have been written, made or removed, by whatever program."""
        run = self.settings.check_on is not CheckOn.MANUAL
        for path in paths:
            if path.name == "pyproject.toml":
                self._plan_all()
            elif path not in self.documents:
                self._edited[path] = time.time()
                for file in affected(self, path):
                    if file.path != path:
                        for record in file.models.values():
                            record.outdated = True
                            self.checks.outdate(record)
                        self.publisher.changed(file)
                    opened = file.path in self.documents
                    self.want(file.path, Wanted(run=run and opened), DEBOUNCE)

    def recheck_if_edited(self, record: ModelRecord, result: ModelResult) -> None:
        """Mark a result that has just come as stale if something that it rests on was edited during the check."""
        edited = {
            path
            for path, when in self._edited.items()
            if when >= record.started and str(path) in result.dependencies
        }
        if edited:
            record.outdated = True
            self.checks.outdate(record)
            mode = self.settings.check_on
            run = mode is CheckOn.TYPE or (mode is CheckOn.SAVE and not edited & self._unsaved)
            self.want(record.path, Wanted(run=run))

    def folders_changed(self, added: Iterable[Path], removed: Iterable[Path]) -> None:
        """Folders have been added to the workspace or taken from it."""
        gone = set(removed)
        self.folders = [folder for folder in self.folders if folder not in gone]
        self.folders += [folder for folder in added if folder not in self.folders]
        self._scan = None
        for path, file in list(self.files.items()):
            if path not in self.documents and any(path.is_relative_to(folder) for folder in gone):
                self._forget(file)

    # Asking for checks

    def want(self, path: Path, wanted: Wanted, delay: float = 0.0) -> None:
        """Plan a file, and check what `wanted` says, after `delay` seconds without another wish."""
        file = self.files.get(path)
        if file is None:
            file = self.files[path] = FileRecord(self.uri(path), path)
        file.uri = self.uri(path)
        file.generation += 1
        if file.wanted is None:
            file.wanted = wanted
        else:
            file.wanted.add(wanted)
        timer = self._timers.pop(path, None)
        if timer is not None:
            timer.cancel()
        if delay:
            loop = asyncio.get_running_loop()
            self._timers[path] = loop.call_later(delay, self._start_planning, file)
        else:
            self._start_planning(file)

    def check(
        self, path: Path, models: set[str] | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Check models of a file because the user says so; `options` win over all others this once."""
        chosen = dict.fromkeys(models or (), options) if options else {}
        self.want(path, Wanted(run=True, only=models, force=True, options=chosen))

    def cancel(self, record: ModelRecord) -> None:
        """Call off the check of a model, whether it runs, waits, or has only been asked for."""
        file = self.files.get(record.path)
        if file is not None and file.wanted is not None:
            file.wanted.call_off(record.name)
        self.checks.cancel(record)

    async def check_workspace(self) -> int:
        """Check every model of the workspace whose answer is not known; returns how many files have models."""
        await self.scan()
        paths = [file.path for file in self.files.values() if file.models or file.findings]
        for path in paths:
            self.want(path, Wanted(run=True))
        return len(paths)

    async def scan(self) -> None:
        """Find the models of all files of the workspace, and what the cache knows of them, without running any."""
        if self._scan is None:
            self._scan = asyncio.get_running_loop().create_task(self._find_models())
        await asyncio.shield(self._scan)

    async def _find_models(self) -> None:
        for folder in self.folders:
            paths = await self._in_thread(self._scanner, partial(_model_files, folder, self._skip))
            for path in paths:
                if path not in self.files:
                    self.want(path, Wanted())
        while any(file.wanted is not None for file in self.files.values()) and self._tasks:
            await asyncio.wait(set(self._tasks), return_when=asyncio.FIRST_COMPLETED)

    async def look_at(self, path: Path) -> None:
        """Find the models of a file that nothing is known of yet."""
        self.want(path, Wanted())
        await asyncio.wait({task for task in self._tasks if task.get_name() == str(path)})

    async def settled(self, path: Path) -> FileRecord | None:
        """The record of a file once its present text has been planned."""
        file = self.files.get(path)
        if file is None:
            return None
        document = self.documents.get(path)
        if document is not None and file.text != document.text:
            if path in self._timers:
                self._timers.pop(path).cancel()
                self._start_planning(file)
            tasks = {task for task in self._tasks if task.get_name() == str(path)}
            if tasks:
                await asyncio.wait(tasks)
        return self.files.get(path)

    # Planning

    def _plan_all(self) -> None:
        run = self.settings.check_on is not CheckOn.MANUAL
        for path in list(self.files):
            self.want(path, Wanted(run=run and path in self.documents))

    def _start_planning(self, file: FileRecord) -> None:
        self._timers.pop(file.path, None)
        self.spawn(self._plan(file, file.generation), str(file.path))

    async def _plan(self, file: FileRecord, generation: int) -> None:
        path = file.path
        # Files that were asked for together get their turn before any of them is read.
        await asyncio.sleep(0)
        if file.generation != generation or file.wanted is None:
            return
        wanted = file.wanted
        read = time.time()
        request = PlanRequest(
            path=path,
            document=self.documents.get(path),
            others=tuple(other for other in self.documents.values() if other.path != path),
            folder=self._folder(path),
            settings=self.settings,
            trusted=self.trusted,
            encoding=self.client.encoding,
            options=dict(wanted.options),
        )
        plan = await self._in_thread(self._thread, partial(self.planner.plan, request))
        if file.generation != generation or self.files.get(path) is not file:
            return
        file.wanted = None
        file.read = read
        self._apply(file, plan, wanted)

    def _folder(self, path: Path) -> Path:
        inside = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(inside, key=lambda folder: len(folder.parts), default=path.parent)

    def _apply(self, file: FileRecord, plan: Plan, wanted: Wanted) -> None:
        file.outline = plan.outline
        file.text = plan.text if file.path in self.documents else None
        self.publisher.show(file, plan.findings)
        former, had = file.models, bool(file.models)
        broken = plan.outline.problem is not None
        if broken:
            # The models are still what the user is at work on; they come back when the file can be read.
            for record in former.values():
                self.checks.outdate(record)
        else:
            file.models = {}
            for planned in plan.models:
                name = planned.outline.info.name
                record = former.pop(name, None) or self._new_record(file, planned)
                file.models[name] = record
                self._apply_model(record, planned, wanted, plan.text or "")
            for record in former.values():
                self._drop(record)
        if had or file.models:
            self.publisher.changed(file)
        if plan.text is None or (not file.models and not file.findings and file.path not in self.documents):
            self._forget(file)

    def _new_record(self, file: FileRecord, planned: PlannedModel) -> ModelRecord:
        nowhere = types.Range(types.Position(0, 0), types.Position(0, 0))
        return ModelRecord(file.uri, file.path, planned.outline, nowhere, nowhere)

    def _apply_model(self, record: ModelRecord, planned: PlannedModel, wanted: Wanted, text: str) -> None:
        lines = split_lines(text)
        outline, encoding = planned.outline, self.client.encoding
        record.uri = self.uri(record.path)
        record.outline = outline
        record.place = range_of(outline.name, lines, encoding)
        block = SourceSpan(outline.info.file, outline.first, 1, outline.last, None)
        record.block = range_of(block, lines, encoding)
        name = outline.info.name
        asked = wanted.asks_for(name)
        record.reason = planned.problem
        record.note = None
        if outline.ignored is not None:
            record.result = None
            self.checks.settle(record, State.IGNORED)
        elif planned.target is None:
            record.result = None
            self.checks.settle(record, State.ERROR, planned.findings)
        elif not self.trusted or planned.environment is None:
            record.result = None
            record.note = UNTRUSTED
            self.checks.settle(record, State.UNCHECKED, planned.findings)
        else:
            self._apply_check(record, planned, planned.target, asked, wanted.force)

    def _apply_check(
        self, record: ModelRecord, planned: PlannedModel, target: CheckTarget, asked: bool, force: bool
    ) -> None:
        same = record.target is not None and record.target.request == target.request
        cached = planned.cached
        if record.state.is_busy and same and not (asked and force):
            return
        if cached is not None and not (asked and force):
            known = record.result
            if known is not None and same and replace(known, cached=True) == cached:
                cached = known
            record.target, record.environment, record.result = target, planned.environment, cached
            self.checks.settle(record, STATE_OF[cached.verdict], planned.findings)
        elif asked:
            self.checks.start(record, planned, target)
        elif same and record.result is not None and not record.outdated:
            self.checks.settle(record, STATE_OF[record.result.verdict], record.findings)
        else:
            if record.result is None:
                record.target = target
            self.checks.call_off(record, State.STALE if record.result is not None else State.UNCHECKED)
            self.checks.mark_stale(record, stale=record.result is not None)
            if record.result is None:
                self.publisher.show(record, planned.findings)

    def _drop(self, record: ModelRecord) -> None:
        """The model is no longer there."""
        self.checks.call_off(record, State.UNCHECKED)
        self.publisher.show(record, ())

    def _forget(self, file: FileRecord) -> None:
        had = bool(file.models)
        for record in file.models.values():
            self._drop(record)
        file.models = {}
        self.publisher.show(file, ())
        self.files.pop(file.path, None)
        if file.path not in self.documents:
            self._uris.pop(file.path, None)
        if had:
            self.publisher.changed(file)

    # Threads and tasks

    def spawn(self, work: Any, name: str) -> asyncio.Task[Any]:
        """Run a coroutine beside everything else; what it raises goes to the log."""
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self._loop is not None:
            self.client.log(f"{Code.INTERNAL_ERROR.value}: {error!r}", types.MessageType.Error)

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say in the log what no handler has caught."""
        error = context.get("exception")
        if self._loop is not None and not isinstance(error, SystemExit | BrokenPipeError):
            text = f"{Code.INTERNAL_ERROR.value}: {context['message']}: {error!r}"
            self.client.log(text, types.MessageType.Error)

    def call_in_loop(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the event loop's thread, soon; from any thread, and without effect after the end."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *arguments)

    async def in_thread(self, work: Callable[[], Value]) -> Value:
        """Do work that takes its time, in the thread of the planner."""
        return await self._in_thread(self._thread, work)

    async def aside(self, work: Callable[[], Value]) -> Value:
        """Do work that may take seconds, in a thread where nothing else waits for it."""
        return await self._in_thread(self._aside, work)

    async def _in_thread(self, thread: ThreadPoolExecutor, work: Callable[[], Value]) -> Value:
        return await asyncio.get_running_loop().run_in_executor(thread, work)

    def _version_of(self, uri: str) -> int | None:
        path = path_of(uri)
        document = self.documents.get(path) if path is not None else None
        return None if document is None else document.version

    def _skip(self, error: DporError) -> None:
        """Say in the log that a file was skipped, once however often it is come across."""
        if error.message not in self._skipped:
            self._skipped.add(error.message)
            self._warn(error.code, f"{error.message}; it is skipped")

    def _warn(self, code: Code, message: str) -> None:
        """Pass on a warning of the planner, from its thread."""
        self.call_in_loop(self.client.log, f"{code.value}: {message}", types.MessageType.Warning)


def _model_files(folder: Path, skip: Callable[[DporError], object]) -> list[Path]:
    return [path.resolve() for path in find_model_files([folder], skip)] if folder.is_dir() else []
