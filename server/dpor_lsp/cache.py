"""The project's cache of results, shared by processes: one SQLite file in `.dpor_cache/` at the project's root."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dpor.assumptions import is_known_to_hold
from dpor.codes import Code
from dpor.continuing import VERSION as CONTINUING_VERSION
from dpor.continuing import Left
from dpor.results import VERSION, ModelResult, Verdict, from_json, to_json
from dpor_lsp.fingerprint import (
    Hasher,
    continuation_key,
    dependency_files,
    environment_stamp,
    request_key,
)
from dpor_lsp.subjects import Subject

FOLDER = ".dpor_cache"
FILE = f"results-{VERSION}.sqlite3"
KEPT_PER_MODEL = 20
BUSY_SECONDS = 5.0

Found = TypeVar("Found")

_NOT_KEPT = {Code.TIMEOUT, Code.CANCELLED}
_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This file marks a cache folder of dpor-lsp; see https://bford.info/cachedir/
"""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, dependencies TEXT NOT NULL, result TEXT NOT NULL, stored REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS results_of_model ON results (model, stored);
CREATE TABLE IF NOT EXISTS stopped (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, dependencies TEXT NOT NULL, remaining TEXT NOT NULL, stored REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS counterexamples (
    model TEXT PRIMARY KEY, schedule TEXT NOT NULL, parameters TEXT NOT NULL, options TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Counterexample:
    """The last counterexample of a model: its schedule, and the parameters and options of the check."""

    schedule: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]


class Cache:
    """Results of one project; to be used from one thread.

    No method raises: a cache that cannot be used is announced once through `warn` (a code and a sentence) and from
    then on finds and keeps nothing. A file that is damaged is set aside first and started afresh. `environment` is
    the stamp of the interpreter that checks the models (None: this one).
    """

    def __init__(self, root: Path, warn: Callable[[Code, str], None], environment: str | None = None) -> None:
        self.folder = root / FOLDER
        self._file = self.folder / FILE
        self._warn = warn
        self._hasher = Hasher()
        self._environment = environment or environment_stamp()
        self._connection: sqlite3.Connection | None = None
        self._given_up = False
        self._asked: dict[str, str] = {}
        self._asked_left: dict[str, str] = {}

    def find(self, subject: Subject) -> ModelResult | None:
        """Return the kept result of the same check of the same code, marked as cached, or None."""
        return self._guarded(lambda connection: self._find(connection, subject))

    def keep(self, subject: Subject, result: ModelResult, started: float) -> None:
        """Keep a result for `find`, and its counterexample for `last_counterexample`.

        `started` is the time (as time.time gives it) before the check began: a result is not kept if a file that it
        depends on was written since. Errors, and results that a timeout or a cancellation cut short, are not kept.
        """
        self._guarded(lambda connection: self._keep(connection, subject, result, started))

    def find_left(self, subject: Subject) -> Left | None:
        """Return what is left of a check of the same code that was stopped, or None; forget it if the code changed."""
        return self._guarded(lambda connection: self._find_left(connection, subject))

    def keep_left(self, subject: Subject, left: Left | None, started: float) -> None:
        """Keep what is left of a check that was stopped, for `find_left`; None forgets what was kept.

        `started` is the time before the check began: what rests on a file that was written since is not kept.
        """
        self._guarded(lambda connection: self._keep_left(connection, subject, left, started))

    def last_counterexample(self, model: str) -> Counterexample | None:
        """Return the last counterexample that was found for the model of this id, or None."""
        return self._guarded(lambda connection: self._last_counterexample(connection, model))

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _guarded(self, action: Callable[[sqlite3.Connection], Found]) -> Found | None:
        """Run `action`; start afresh once if the file is damaged, give the cache up for any other failure."""
        for attempt in (1, 2):
            if self._given_up:
                return None
            try:
                if self._connection is None:
                    self._connection = _connect(self.folder, self._file)
                    self._connection.executescript(_SCHEMA)
                return action(self._connection)
            except (sqlite3.Error, OSError, ValueError, KeyError, TypeError) as error:
                self.close()
                if attempt == 1 and _is_damage(error):
                    self._start_afresh(error)
                else:
                    self._given_up = True
                    self._warn(
                        Code.CACHE_CORRUPT,
                        f"the result cache {self.folder} cannot be used ({error}); nothing is kept this time",
                    )
        return None

    def _start_afresh(self, error: Exception) -> None:
        try:
            aside = _set_aside(self._file)
        except OSError:
            # Another process may hold it; the next attempt fails too and gives the cache up.
            return
        self._warn(
            Code.CACHE_CORRUPT,
            f"the result cache could not be read ({error}); it was set aside as {aside} and started afresh",
        )

    def _find(self, connection: sqlite3.Connection, subject: Subject) -> ModelResult | None:
        key = request_key(subject, self._hasher, self._environment)
        self._asked[subject.info.id] = key
        row = connection.execute("SELECT dependencies, result FROM results WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        texts = subject.texts
        for name, digest in json.loads(row[0]).items():
            if self._hasher.hash(subject.root / name, texts) != digest:
                return None
        result = from_json(ModelResult, json.loads(row[1]))
        return replace(result, line=subject.info.line, cached=True)

    def _keep(
        self, connection: sqlite3.Connection, subject: Subject, result: ModelResult, started: float
    ) -> None:
        if result.violations:
            self._keep_counterexample(connection, subject, result)
        if result.verdict is Verdict.ERROR or (result.reason and result.reason.code in _NOT_KEPT):
            return
        if not all(map(is_known_to_hold, result.assumptions)):
            return
        files = dependency_files(subject, result.dependencies)
        key = request_key(subject, self._hasher, self._environment)
        texts = subject.texts
        # A text that was handed in cannot have changed since.
        changed = subject.request.source is None and self._asked.get(subject.info.id, key) != key
        if changed or any(_written_since(file, started) for file in files if file not in texts):
            return
        hashes = {_stored_name(file, subject.root): self._hasher.hash(file, texts) for file in files}
        values = (key, result.id, json.dumps(hashes), json.dumps(to_json(result)), time.time())
        with connection:
            connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", values)
            connection.execute(
                "DELETE FROM results WHERE model = ? AND key NOT IN"
                " (SELECT key FROM results WHERE model = ? ORDER BY stored DESC LIMIT ?)",
                (result.id, result.id, KEPT_PER_MODEL),
            )

    def _find_left(self, connection: sqlite3.Connection, subject: Subject) -> Left | None:
        key = continuation_key(subject, self._hasher, self._environment)
        self._asked_left[subject.info.id] = key
        row = connection.execute(
            "SELECT dependencies, remaining FROM stopped WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        known = json.loads(row[0]).items()
        left = from_json(Left, json.loads(row[1]))
        changed = any(
            self._hasher.hash(subject.root / name, subject.texts) != digest for name, digest in known
        )
        if changed or left.version != CONTINUING_VERSION:
            with connection:
                connection.execute("DELETE FROM stopped WHERE key = ?", (key,))
            return None
        return left

    def _keep_left(
        self, connection: sqlite3.Connection, subject: Subject, left: Left | None, started: float
    ) -> None:
        key = continuation_key(subject, self._hasher, self._environment)
        files = [] if left is None else dependency_files(subject, left.dependencies)
        texts = subject.texts
        changed = subject.request.source is None and self._asked_left.get(subject.info.id, key) != key
        changed = changed or any(_written_since(file, started) for file in files if file not in texts)
        with connection:
            # One for each model is enough, and those of older code must not pile up.
            connection.execute("DELETE FROM stopped WHERE model = ?", (subject.info.id,))
            if left is not None and not changed and all(map(is_known_to_hold, left.assumptions)):
                hashes = {_stored_name(file, subject.root): self._hasher.hash(file, texts) for file in files}
                values = (key, subject.info.id, json.dumps(hashes), json.dumps(to_json(left)), time.time())
                connection.execute("INSERT INTO stopped VALUES (?, ?, ?, ?, ?)", values)

    def _keep_counterexample(
        self, connection: sqlite3.Connection, subject: Subject, result: ModelResult
    ) -> None:
        request = subject.request
        values = (
            result.id,
            result.violations[0].schedule,
            json.dumps(to_json(request.parameters)),
            json.dumps(to_json(request.options)),
        )
        with connection:
            connection.execute("INSERT OR REPLACE INTO counterexamples VALUES (?, ?, ?, ?)", values)

    def _last_counterexample(self, connection: sqlite3.Connection, model: str) -> Counterexample | None:
        row = connection.execute(
            "SELECT schedule, parameters, options FROM counterexamples WHERE model = ?", (model,)
        ).fetchone()
        return None if row is None else Counterexample(row[0], json.loads(row[1]), json.loads(row[2]))


def _connect(folder: Path, file: Path) -> sqlite3.Connection:
    """Open the file, in a folder that version control and backups leave alone."""
    folder.mkdir(exist_ok=True)
    for name, content in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
        with contextlib.suppress(FileExistsError), (folder / name).open("x", encoding="utf-8") as stream:
            stream.write(content)
    return sqlite3.connect(file, timeout=BUSY_SECONDS)


def _is_damage(error: Exception) -> bool:
    """Tell a damaged file from one that is locked, read-only or on a full disk."""
    if not isinstance(error, sqlite3.Error):
        return not isinstance(error, OSError)
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH")) or not name


def _set_aside(file: Path) -> Path:
    """Move a damaged file out of the way, with its journal, and return its new name."""
    aside = file.with_name(f"{file.name}.damaged-{os.getpid()}-{time.time_ns()}")
    with contextlib.suppress(FileNotFoundError):
        os.replace(file, aside)
    with contextlib.suppress(FileNotFoundError):
        os.replace(file.with_name(file.name + "-journal"), aside.with_name(aside.name + "-journal"))
    return aside


def _written_since(file: Path, started: float) -> bool:
    try:
        return file.stat().st_mtime >= started
    except OSError:
        return True


def _stored_name(file: Path, root: Path) -> str:
    return (file.relative_to(root) if file.is_relative_to(root) else file).as_posix()
