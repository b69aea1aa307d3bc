"""From the paths on the command line to the models that are checked, without running any of their code."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import decode_source
from pathlib import Path
from typing import Any

from dpor.codes import Code
from dpor.discovery import find_model_files, find_models, pass_over
from dpor.errors import DporError, reason_of_system
from dpor.reading import read_source, require_readable
from dpor.results import CheckRequest, ModelInfo, ModelResult, Reason, SourceSpan, Verdict
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.failures import reason_of
from dpor_lsp.cli.assignments import assigned_parameters, check_names
from dpor_lsp.options import did_you_mean
from dpor_lsp.project import Settings, find_root, relative_name

MODEL_SEPARATOR = "::"


@dataclass(frozen=True)
class Found:
    """A model found under one of the targets."""

    info: ModelInfo
    root: Path
    path: Path


@dataclass(frozen=True)
class Problem:
    """A target that cannot be checked, as the result that reports show for it."""

    result: ModelResult
    root: Path


@dataclass(frozen=True)
class Overrides:
    """How the models are to be checked: what the command line asks for, over the project's settings."""

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    assignments: Mapping[str, str] = field(default_factory=dict[str, str])
    all_violations: bool = False
    settings: Settings = field(default_factory=Settings)


def split_target(target: str) -> tuple[str, str | None]:
    """Split `PATH::MODEL` into path and model name (None for a bare path); `::` in a method's name becomes a dot."""
    path, separator, model = target.partition(MODEL_SEPARATOR)
    return path, model.replace(MODEL_SEPARATOR, ".") if separator else None


def locate(text: str, working_directory: Path) -> Path:
    """Return the existing path that `text` means: seen from the working directory or from the project's root.

    Raises DporError (DPOR103) if there is none.
    """
    try:
        path = working_directory / text
        if path.exists():
            return path.resolve()
        in_project = find_root(working_directory, working_directory) / text
        if in_project.exists():
            return in_project.resolve()
        siblings = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
    except (OSError, ValueError, RuntimeError) as error:
        # A name that no system takes, a folder that may not be entered, a link to itself.
        reason = reason_of_system(error)
        raise DporError(
            Code.NOT_FOUND,
            f"no such file or folder: {text} ({reason})",
            "check the spelling, or give a path relative to this folder",
        ) from error
    hint = did_you_mean(path.name, siblings) or "check the spelling, or give a path relative to this folder. "
    raise DporError(Code.NOT_FOUND, f"no such file or folder: {text}", hint.strip())


def find_targets(
    targets: Sequence[str],
    working_directory: Path,
    settings: Settings,
    skipped: Callable[[DporError], object] = pass_over,
    *,
    ignore_empty: bool = False,
) -> list[Found | Problem]:
    """Find the models of the targets, in their order and each once; what cannot be read becomes a problem.

    A target is a file, a folder (searched for files with models) or either with `::MODEL`. With `ignore_empty` a
    target without models is no problem. `skipped` is told of each file below a folder that cannot be read.
    """
    found: dict[str, Found | Problem] = {}
    for target in targets or settings.paths or (".",):
        for item in _find_target(target, working_directory, settings, skipped, ignore_empty=ignore_empty):
            key = (
                f"{item.path}::{item.info.name}"
                if isinstance(item, Found)
                else f"{item.root}/{item.result.id}"
            )
            found.setdefault(key, item)
    return list(found.values())


def _find_target(
    target: str,
    working_directory: Path,
    settings: Settings,
    skipped: Callable[[DporError], object],
    *,
    ignore_empty: bool,
) -> Iterable[Found | Problem]:
    text, model = split_target(target)
    try:
        path = locate(text, working_directory)
        if path.is_dir():
            files = _files_below(path, settings.exclude, skipped)
        else:
            require_readable(path, text)
            files = [path]
    except (DporError, OSError, ValueError, RecursionError, MemoryError) as error:
        return [_problem(text, working_directory.resolve(), error)]
    found: list[Found | Problem] = []
    for file in files:
        root = find_root(file, working_directory)
        try:
            models = [Found(info, root, file) for info in find_models(file, root)]
        except (DporError, OSError, ValueError, RecursionError, MemoryError) as error:
            found.append(_problem(relative_name(file, root), root, error))
            continue
        found.extend(models)
    if model is not None:
        return _selected(found, model, text, working_directory.resolve())
    if not found and not ignore_empty:
        root = find_root(path, working_directory)
        return [_problem(relative_name(path, root), root, _no_models(text))]
    return found


def _files_below(folder: Path, exclude: Sequence[str], skipped: Callable[[DporError], object]) -> list[Path]:
    files: list[Path] = []
    for file in sorted(Path(item).resolve() for item in find_model_files([folder], skipped)):
        name = relative_name(file, folder)
        if not any(
            fnmatch.fnmatch(name, pattern) or name.startswith(pattern.rstrip("/") + "/")
            for pattern in exclude
        ):
            files.append(file)
    return files


def _selected(found: list[Found | Problem], model: str, text: str, root: Path) -> list[Found | Problem]:
    problems: list[Found | Problem] = [item for item in found if isinstance(item, Problem)]
    models = [item for item in found if isinstance(item, Found)]
    chosen = [item for item in models if item.info.name == model]
    if chosen or problems:
        return [*problems, *chosen]
    if not models:
        return [_problem(text, root, _no_models(text))]
    names = [item.info.name for item in models]
    hint = f"{did_you_mean(model, names)}it has {', '.join(names)}"
    error = DporError(Code.NOT_FOUND, f"{text} has no model {model!r}", hint)
    return [_problem(f"{relative_name(models[0].path, models[0].root)}", models[0].root, error, model)]


def _no_models(text: str) -> DporError:
    return DporError(
        Code.NO_MODELS,
        f"{text} holds no function marked @dpor.model",
        "mark a module-level function with @dpor.model, or name another path",
    )


def _problem(name: str, root: Path, error: Exception, model: str | None = None) -> Problem:
    if isinstance(error, DporError):
        reason = Reason(error.code, error.message, error.fix, error.span)
    elif isinstance(error, FileNotFoundError):
        reason = Reason(Code.NOT_FOUND, f"{name} vanished before it was read", "check whether it was moved")
    elif isinstance(error, UnicodeError):
        reason = Reason(Code.SYNTAX_ERROR, f"{name} is not valid text: {error}", "save it as UTF-8")
    elif isinstance(error, OSError):
        reason = Reason(Code.NOT_FOUND, f"{name} cannot be read: {error}", "check its permissions")
    else:
        reason = reason_of(error)
    if reason.location is None and reason.code not in (Code.NOT_FOUND, Code.NO_MODELS):
        reason = Reason(reason.code, reason.message, reason.fix, SourceSpan(name, 1))
    line = reason.location.line if reason.location else 1
    identity = f"{name}{MODEL_SEPARATOR}{model}" if model else name
    return Problem(ModelResult(identity, name, line, {}, Verdict.ERROR, reason), root)


def plan(found: Iterable[Found | Problem], overrides: Overrides) -> list[CheckTarget | Problem]:
    """Turn what was found into checks.

    A model's decorator wins over the project's settings, the command line over both. Raises DporError (DPOR106) if
    no model has an assigned parameter; a value of the wrong type is the problem of the model that it is wrong for.
    """
    found = list(found)
    check_names([item.info for item in found if isinstance(item, Found)], overrides.assignments)
    return [item if isinstance(item, Problem) else _target_or_problem(item, overrides) for item in found]


def _target_or_problem(found: Found, overrides: Overrides) -> CheckTarget | Problem:
    try:
        return target_of(found, overrides)
    except DporError as error:
        info = found.info
        reason = Reason(error.code, error.message, error.fix, error.span)
        return Problem(
            ModelResult(info.id, info.file, info.line, info.parameters, Verdict.ERROR, reason), found.root
        )


def _source(found: Found) -> str:
    return decode_source(read_source(found.path, found.info.file))


def target_of(found: Found, overrides: Overrides) -> CheckTarget:
    """Say how one model is checked. Raises DporError (DPOR106) for a value of the wrong type."""
    defaults = {
        name: value for name, value in overrides.settings.options.items() if name not in found.info.options
    }
    try:
        parameters = assigned_parameters(found.info, overrides.assignments, lambda: _source(found))
    except DporError as error:
        span = SourceSpan(found.info.file, found.info.line, found.info.column)
        raise DporError(error.code, error.message, error.fix, span) from None
    request = CheckRequest(
        file=str(found.path),
        model=found.info.name,
        root=str(found.root),
        parameters=parameters,
        options={**defaults, **overrides.options},
        all_violations=overrides.all_violations,
    )
    return CheckTarget(found.info, found.root, request)
