"""The pytest plugin: with `--dpor` models are tests; without it a summary line says how many were not checked.

What pytest loads at every start is kept small: everything else of this distribution is imported when a model is
met.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpor.reading import read_file

if TYPE_CHECKING:
    from dpor.errors import DporError
    from dpor.results import ModelInfo
    from dpor_lsp.checking.checker import Checker

_MARK = b"dpor"
_WORKER_KEY = "dpor_unchecked_models"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--dpor`, `--dpor-timeout` and `--dpor-strict`."""
    group = parser.getgroup("dpor", "checking concurrent models")
    group.addoption("--dpor", action="store_true", help="check functions marked @dpor.model as tests")
    group.addoption(
        "--dpor-timeout",
        default=None,
        metavar="S",
        help="seconds after which the check of a model ends as incomplete, and its test fails",
    )
    group.addoption(
        "--dpor-strict",
        action="store_true",
        help="the test of a model fails if its verdict rests on assumptions",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set up what lasts for the whole run; raises UsageError for a timeout that is not one."""
    config.addinivalue_line(
        "markers", "dpor: a model of concurrent code that --dpor checks (set by the plugin)"
    )
    # First: what ends the run here is unconfigured too.
    config.stash[_SESSION] = DporSession(config)
    given = config.getoption("--dpor-timeout")
    if given is not None:
        config.option.dpor_timeout = _read_timeout(given)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of the caches."""
    config.stash[_SESSION].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> DporFile | None:
    """Collect the models of a file that pytest collects, or that was named on the command line."""
    if file_path.suffix != ".py" or not _is_wanted(file_path, parent):
        return None
    try:
        if _MARK not in read_file(file_path):
            return None
    except OSError:
        return None
    session = parent.config.stash[_SESSION]
    if not parent.config.getoption("--dpor"):
        session.count_unchecked(file_path)
        return None
    return DporFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """End the run before it begins where settings are not accepted: once, however many files have models."""
    if not hasattr(config, "workerinput"):
        config.stash[_SESSION].require_settings()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many models were not checked."""
    number = config.stash[_SESSION].unchecked
    if number:
        were = "dpor model was" if number == 1 else "dpor models were"
        terminalreporter.write_line(f"{number} {were} not checked; run pytest --dpor", yellow=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Under pytest-xdist, tell the controller what this worker has seen."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_WORKER_KEY] = session.config.stash[_SESSION].unchecked


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Under pytest-xdist, take over what a worker has seen; every worker collects everything."""
    session = node.config.stash[_SESSION]
    session.unchecked = max(session.unchecked, getattr(node, "workeroutput", {}).get(_WORKER_KEY, 0))


class DporSession:
    """What the plugin keeps for one pytest run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._checkers: dict[Path, Checker] = {}
        self._counted: set[Path] = set()
        # Why the settings of a project are not accepted, by its root.
        self._refused: dict[Path, str | None] = {}
        self.unchecked = 0

    def find(self, path: Path) -> tuple[list[ModelInfo], Path]:
        """Return the models of a file and its project's root; raises DporError if it cannot be read or parsed."""
        from dpor.discovery import find_models
        from dpor_lsp.project import find_root

        root = find_root(path, self._config.invocation_params.dir)
        return list(find_models(path, root)), root

    def count_unchecked(self, path: Path) -> None:
        """Count the models of a file, once; a file that cannot be parsed is pytest's own to report."""
        from dpor.errors import DporError

        if path in self._counted:
            return
        self._counted.add(path)
        try:
            self.unchecked += len(self.find(path)[0])
        except (DporError, OSError, UnicodeError):
            return

    def checker(self, root: Path) -> Checker:
        """Return the checker of a project; raises DporError for settings that are not accepted."""
        from dpor_lsp.cli.arguments import Arguments, Mode
        from dpor_lsp.cli.preparation import make_checker

        if root not in self._checkers:
            self._checkers[root] = make_checker(Arguments(Mode.CHECK), root)
        return self._checkers[root]

    def refused_settings(self, root: Path) -> str | None:
        """Why the settings of a project are not accepted; None if they are."""
        from dpor.errors import DporError
        from dpor_lsp.project import read_settings

        if root in self._refused:
            return self._refused[root]
        try:
            read_settings(root)
        except DporError as error:
            where = f"{root / error.span.file}:{error.span.line}: " if error.span is not None else ""
            self._refused[root] = f"{where}{_told(error)}"
        else:
            self._refused[root] = None
        return self._refused[root]

    def require_settings(self) -> None:
        """End the run with a usage error if the settings of a project are not accepted."""
        refused = [reason for reason in self._refused.values() if reason is not None]
        if refused:
            raise pytest.UsageError(*refused)

    def close(self) -> None:
        """Let go of the caches."""
        for checker in self._checkers.values():
            checker.close()


_SESSION = pytest.StashKey[DporSession]()


class DporFile(pytest.File):
    """A file with models; it is parsed, not imported."""

    def collect(self) -> Iterator[DporItem]:
        """Yield a test for each model."""
        from dpor.codes import Code
        from dpor.errors import DporError

        session = self.config.stash[_SESSION]
        try:
            models, root = session.find(self.path)
        except DporError as error:
            raise self.CollectError(_told(error)) from None
        except (OSError, UnicodeError) as error:
            raise self.CollectError(f"{Code.NOT_FOUND.value}: {self.path} cannot be read: {error}") from None
        refused = session.refused_settings(root) if models else None
        if refused is not None:
            # What a worker of pytest-xdist raises elsewhere is a crash of it.
            if hasattr(self.config, "workerinput"):
                raise self.CollectError(refused)
            return
        for info in models:
            yield DporItem.from_parent(  # pyright: ignore[reportUnknownMemberType]
                self, name=info.name, info=info, root=root
            )


class DporItem(pytest.Item):
    """One model as a test: it passes if the verdict is the expected one."""

    def __init__(self, *, info: ModelInfo, root: Path, **others: Any) -> None:
        super().__init__(**others)  # pyright: ignore[reportUnknownMemberType]
        self._info = info
        self._root = root
        self.add_marker("dpor")

    def runtest(self) -> None:
        """Check the model in a worker process, unless the cache knows the answer."""
        from dpor_lsp.checking.scheduler import Job, run_job
        from dpor_lsp.cli.targets import Found, Overrides, target_of
        from dpor_lsp.project import read_settings

        timeout = self.config.getoption("--dpor-timeout")
        options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        if self.config.getoption("--dpor-strict"):
            options["strict"] = True
        overrides = Overrides(options=options, settings=read_settings(self._root))
        target = target_of(Found(self._info, self._root, self.path), overrides)
        checker = self.config.stash[_SESSION].checker(self._root)
        result = checker.find(target)
        if result is None:
            result, _ = run_job(Job(target, checker.limits(target)))
            checker.keep(target, result)
        if result.output:
            self.add_report_section("call", "model output", result.output)
        if not result.as_expected:
            raise NotAsExpectedError(result, self._root)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the counterexample, or why there is no verdict, instead of a Python traceback."""
        if isinstance(excinfo.value, NotAsExpectedError):
            return excinfo.value.explanation()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the model is, for pytest's own reports."""
        return self.path, self._info.line - 1, self._info.name


class NotAsExpectedError(Exception):
    """A model's verdict is not the expected one. Arguments: its ModelResult and the project's root."""

    def __init__(self, result: Any, root: Path) -> None:
        super().__init__(f"{result.id}: {result.verdict.value}")
        self.result = result
        self.root = root

    def explanation(self) -> str:
        """Return the text report of the result."""
        from dataclasses import replace

        from dpor_lsp.cli.report import Entry
        from dpor_lsp.formats.text import Style, entry

        return entry(Entry(replace(self.result, output=""), self.root), Style()).rstrip()


def _read_timeout(given: object) -> float:
    """Return the seconds that --dpor-timeout gives; raises UsageError for what the command line does not accept."""
    from dpor.errors import DporError
    from dpor_lsp.options import read_option

    try:
        seconds: float | None = read_option("timeout", given, shown_as="--dpor-timeout")
    except DporError as error:
        raise pytest.UsageError(_told(error)) from None
    if seconds is None:
        raise pytest.UsageError("DPOR105: --dpor-timeout does not accept 'none'\n  leave it out")
    return seconds


def _told(error: DporError) -> str:
    hint = f"\n  {error.fix}" if error.fix else ""
    return f"{error.code.value}: {error.message}{hint}"


def _is_wanted(path: Path, parent: pytest.Collector) -> bool:
    if parent.session.isinitpath(path):
        return True
    return any(path.match(pattern) for pattern in parent.config.getini("python_files"))
