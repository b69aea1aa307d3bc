"""From the arguments to what is checked and how: root, settings, models, checker."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from dpor.codes import Code
from dpor.errors import DporError, reason_of_system
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.checker import Checker, RunSettings
from dpor_lsp.cli.arguments import Arguments
from dpor_lsp.cli.assignments import parse_assignments
from dpor_lsp.cli.console import warn
from dpor_lsp.cli.report import raised
from dpor_lsp.cli.targets import (
    MODEL_SEPARATOR,
    Found,
    Overrides,
    Problem,
    find_targets,
    locate,
    plan,
    split_target,
)
from dpor_lsp.options import DEFAULT_HANG_TIMEOUT, DEFAULT_MEMORY_LIMIT
from dpor_lsp.project import Settings, find_root, read_settings

Value = TypeVar("Value")


def run_root(arguments: Arguments) -> Path:
    """Return the project folder that a run is about: that of its first path that exists, else of the current folder."""
    here = working_directory()
    for target in (arguments.replay,) if arguments.replay else arguments.paths:
        try:
            return find_root(locate(split_target(target)[0], here), here)
        except DporError:
            continue
    return find_root(here, here)


def working_directory() -> Path:
    """Return the current folder. Raises DporError (DPOR103) if it has been deleted or cannot be reached."""
    try:
        return Path.cwd()
    except OSError as error:
        raise DporError(
            Code.NOT_FOUND,
            f"the current folder cannot be used: {reason_of_system(error)}",
            "change to a folder that exists (cd)",
        ) from error


def make_checker(arguments: Arguments, root: Path) -> Checker:
    """Return a checker that runs as the command line says, and where it says nothing as the project does.

    Raises DporError for a setting that is not accepted, and for --resume without a cache.
    """
    settings = read_settings(root)
    cache = settings.cache if arguments.cache is None else arguments.cache
    if arguments.resume and not cache:
        raise DporError(
            Code.BAD_OPTION,
            "--resume needs the cache, which is turned off: what is left of a check is kept there",
            "leave --no-cache out, and do not set cache = false",
        )
    run = RunSettings(
        jobs=arguments.jobs or settings.jobs,
        cache=cache,
        resume=arguments.resume,
        hang_timeout=_first(arguments.hang_timeout, settings.hang_timeout, default=DEFAULT_HANG_TIMEOUT),
        memory_limit=_first(arguments.memory_limit, settings.memory_limit, default=DEFAULT_MEMORY_LIMIT),
    )
    return Checker(run, warn)


def _first(*values: Value | None, default: Value) -> Value:
    return next((value for value in values if value is not None), default)


def overrides(arguments: Arguments, root: Path) -> Overrides:
    """Return how models are to be checked. Raises DporError for an assignment or a setting that is not accepted."""
    return Overrides(
        options=arguments.engine,
        assignments=parse_assignments(arguments.assignments),
        all_violations=arguments.all_violations,
        settings=read_settings(root),
    )


class Skipped:
    """Warns of files below a folder that cannot be read, of each once however often they are come across."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, error: DporError) -> None:
        """Warn of one file."""
        if error.message not in self._told:
            self._told.add(error.message)
            warn(error.code, f"{error.message}; it is skipped")


def found(arguments: Arguments, root: Path, skipped: Skipped) -> list[Found | Problem]:
    """Find the models that the paths name; `skipped` is told of files that cannot be read."""
    settings: Settings = read_settings(root)
    return find_targets(
        arguments.paths, working_directory(), settings, skipped, ignore_empty=arguments.ignore_empty
    )


def planned(arguments: Arguments, root: Path, skipped: Skipped) -> list[CheckTarget | Problem]:
    """Find the models that the paths name, and say how each is checked; `skipped` is as for `found`."""
    return plan(found(arguments, root, skipped), overrides(arguments, root))


def only_model(arguments: Arguments, root: Path, asked: Overrides) -> CheckTarget:
    """Return the one model to replay; a path that holds just one model is enough.

    Raises DporError if the target means no model, or more than one.
    """
    assert arguments.replay is not None
    items = plan(find_targets([arguments.replay], working_directory(), asked.settings, Skipped()), asked)
    for item in items:
        if isinstance(item, Problem) and item.result.reason is not None:
            raise raised(item.result.reason)
    models = [item for item in items if isinstance(item, CheckTarget)]
    if len(models) != 1:
        names = ", ".join(f"{arguments.replay}{MODEL_SEPARATOR}{item.info.name}" for item in models[:10])
        message = f"--replay needs one model, and {arguments.replay} has {len(models)}"
        raise DporError(Code.BAD_OPTION, message, f"name one: {names}")
    return models[0]
