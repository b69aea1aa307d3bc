"""Decides what has to be checked: reads files, asks the cache, finds interpreters. Runs in one thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import decode_source
from pathlib import Path
from typing import Any, cast

from lsprotocol.types import DiagnosticSeverity

from dpor.codes import Code
from dpor.counterexample.schedule import decode
from dpor.discovery import PACKAGE
from dpor.errors import DporError
from dpor.reading import read_file
from dpor.results import ModelResult, Reason, ReplayRequest, SourceSpan, to_json
from dpor_lsp.checking.cache import Cache
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.fingerprint import Hasher
from dpor_lsp.cli.targets import Found, Overrides, target_of
from dpor_lsp.language_server.analysis import ModelOutline, Outline, outline
from dpor_lsp.language_server.documents import Document
from dpor_lsp.language_server.environment import Environment, Environments
from dpor_lsp.language_server.findings import (
    Finding,
    Places,
    assumed_of,
    findings_of,
    hint_of,
    reason_message,
)
from dpor_lsp.language_server.positions import Encoding
from dpor_lsp.language_server.settings import DEFAULT_TIMEOUT, EditorSettings
from dpor_lsp.options import DEFAULT_HANG_TIMEOUT, DEFAULT_MEMORY_LIMIT
from dpor_lsp.project import Settings, find_root, read_settings

_ERROR = DiagnosticSeverity.Error


@dataclass(frozen=True)
class PlanRequest:
    """What to plan: a file, its text if it is open, the other open documents, and how to check.

    `folder` is the workspace folder that the file lies in; `options` are overrides for single models, by name.
    """

    path: Path
    document: Document | None
    others: tuple[Document, ...]
    folder: Path
    settings: EditorSettings
    trusted: bool
    encoding: Encoding
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


@dataclass(frozen=True)
class PlannedModel:
    """A model and how it is checked; `problem` if it cannot be, `cached` if the answer is known.

    `first` is the model's last counterexample, where it may still hold. `findings` are what is to be shown of
    `problem` or of `cached`, or of the text alone as long as there is no result.
    """

    outline: ModelOutline
    target: CheckTarget | None = None
    limits: Limits = field(default_factory=Limits)
    environment: Environment | None = None
    problem: Reason | None = None
    cached: ModelResult | None = None
    first: ReplayRequest | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A file as it was planned: `text` is what was read (None if there is no such file)."""

    root: Path
    outline: Outline
    text: str | None
    models: tuple[PlannedModel, ...] = ()
    findings: tuple[Finding, ...] = ()


class Planner:
    """Plans checks and keeps their results. Every method runs in the one thread that the caches belong to.

    `uri_of` gives a file's address; `warn` gets what is worth a warning but costs no result.
    """

    def __init__(self, uri_of: Callable[[Path], str], warn: Callable[[Code, str], None]) -> None:
        self._uri_of = uri_of
        self._warn = warn
        self._environments = Environments()
        self._hasher = Hasher()
        self._caches: dict[Path, tuple[str, Cache]] = {}

    def plan(self, request: PlanRequest) -> Plan:
        """Plan all models of a file; nothing of the workspace is executed unless it is trusted."""
        path = request.path
        root = find_root(path if path.exists() else path.parent, request.folder)
        text = request.document.text if request.document is not None else _read(path)
        if text is None:
            return Plan(root, Outline(), None)
        read = Outline(problem=text) if isinstance(text, Reason) else outline(path, root, text)
        text = "" if isinstance(text, Reason) else text
        places = Places(root, {path: text}, self._uri_of, request.encoding)
        if read.problem is not None:
            found = Finding(
                *places.place(read.problem.location or SourceSpan(str(path), 1)),
                _ERROR,
                read.problem.code,
                reason_message(read.problem),
            )
            return Plan(root, read, text, findings=(found,))
        models = tuple(self._model(request, root, model, read, text, places) for model in read.models)
        shown = request.document is not None and request.settings.hints
        hints = tuple(hint_of(weakness, places) for weakness in read.weaknesses) if shown else ()
        return Plan(root, read, text, models, hints)

    def _model(
        self,
        request: PlanRequest,
        root: Path,
        model: ModelOutline,
        read: Outline,
        text: str,
        places: Places,
    ) -> PlannedModel:
        if model.ignored is not None:
            return PlannedModel(model)
        try:
            settings = read_settings(root)
            target = self._target(request, root, model, text, settings)
            limits = _limits(target, request.settings, settings)
            shown = request.document is not None and request.settings.hints
            packages = _unlooked(model, request.path, root) if shown else []
            assumed = tuple(assumed_of(package, model, places, read.imports) for package in packages)
            if not request.trusted:
                return PlannedModel(model, target, limits, findings=assumed)
            environment = self._environments.choose(request.settings.interpreter, root)
        except DporError as error:
            reason = Reason(error.code, error.message, error.fix, error.span)
            uri, place = places.place(error.span or model.name)
            finding = Finding(uri, place, _ERROR, reason.code, reason_message(reason, model.info.name))
            return PlannedModel(model, problem=reason, findings=(finding,))
        planned = PlannedModel(model, target, limits, environment, findings=assumed)
        cache = self._cache(root, environment) if settings.cache else None
        if cache is None:
            return planned
        cached = cache.find(target)
        if cached is not None:
            found = self.findings(target, cached, model, read, request.encoding, hints=request.settings.hints)
            return replace(planned, cached=cached, findings=found)
        return replace(planned, first=_counterexample(cache, target))

    def _target(
        self, request: PlanRequest, root: Path, model: ModelOutline, text: str, settings: Settings
    ) -> CheckTarget:
        overrides = Overrides(
            options={**request.settings.options, **request.options.get(model.info.name, {})},
            settings=settings,
        )
        target = target_of(Found(model.info, root, request.path), overrides)
        options = dict(target.request.options)
        if options.get("timeout", model.info.options.get("timeout")) is None:
            options["timeout"] = DEFAULT_TIMEOUT
        overlays = {
            str(other.path): other.text
            for other in request.others
            if other.path.is_relative_to(root) and other.digest != self._hasher.hash(other.path)
        }
        checked = replace(target.request, source=text, options=options, overlays=overlays)
        return replace(target, request=checked)

    def findings(
        self,
        target: CheckTarget,
        result: ModelResult,
        model: ModelOutline,
        read: Outline,
        encoding: Encoding,
        *,
        hints: bool,
    ) -> tuple[Finding, ...]:
        """What is to be shown of a result."""
        places = Places(target.root, target.texts, self._uri_of, encoding)
        return findings_of(result, model, places, read.imports, hints=hints)

    def keep(self, target: CheckTarget, environment: Environment, result: ModelResult) -> None:
        """Keep a result in the project's cache."""
        if read_settings(target.root).cache:
            self._cache(target.root, environment).keep(target, result)

    def close(self) -> None:
        """Let go of the caches."""
        for _, cache in self._caches.values():
            cache.close()
        self._caches.clear()

    def _cache(self, root: Path, environment: Environment) -> Cache:
        known = self._caches.get(root)
        if known is None or known[0] != environment.stamp:
            if known is not None:
                known[1].close()
            known = self._caches[root] = (environment.stamp, Cache(root, self._warn, environment.stamp, root))
        return known[1]


def _unlooked(model: ModelOutline, path: Path, root: Path) -> list[str]:
    """The packages of other people that a model names and does not look into."""
    given: object = model.info.options.get("instrument", ())
    looked = cast("Sequence[object]", (given,) if isinstance(given, str) else given)
    names = {str(name).partition(".")[0] for name in looked}
    own = {root, root / "src", path.parent}
    return sorted(
        name
        for name in model.packages - names
        if not any((folder / name).is_dir() or (folder / f"{name}.py").is_file() for folder in own)
    )


def _read(path: Path) -> str | Reason | None:
    """The text of a file as Python reads it; why there is none; or None if there is no file."""
    try:
        content = read_file(path)
    except OSError:
        return None
    try:
        return decode_source(content)
    except (SyntaxError, UnicodeError) as error:
        if PACKAGE.encode() not in content:
            return ""
        name = path.name
        fix = "save it as UTF-8, or name its encoding in its first line"
        return Reason(Code.SYNTAX_ERROR, f"{name} cannot be read as text: {error}", fix)


def _limits(target: CheckTarget, editor: EditorSettings, settings: Settings) -> Limits:
    timeout = target.request.options.get("timeout", target.info.options.get("timeout"))
    memory = editor.memory_limit if editor.memory_limit is not None else settings.memory_limit
    return Limits(
        float(timeout) if isinstance(timeout, int | float) and timeout > 0 else DEFAULT_TIMEOUT,
        settings.hang_timeout or DEFAULT_HANG_TIMEOUT,
        DEFAULT_MEMORY_LIMIT if memory is None else memory,
    )


def _counterexample(cache: Cache, target: CheckTarget) -> ReplayRequest | None:
    """The model's last counterexample, if it was found for the parameters and the memory model of this check."""
    kept = cache.last_counterexample(target.info.id)
    if kept is None:
        return None
    try:
        schedule = decode(kept.schedule)
    except DporError:
        return None
    request = target.request
    options = {**target.info.options, **request.options}
    wanted = {**target.info.parameters, **request.parameters}
    if schedule.memory_model != options.get("memory_model", "sc") or to_json(schedule.parameters) != to_json(
        wanted
    ):
        return None
    return ReplayRequest(
        file=request.file,
        model=request.model,
        root=request.root,
        schedule=kept.schedule,
        parameters=request.parameters,
        options=request.options,
        source=request.source,
        overlays=request.overlays,
    )
