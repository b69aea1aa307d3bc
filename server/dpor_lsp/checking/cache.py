"""The project's cache of results, shared by processes: one SQLite file in `.dpor_cache/` at the project's root."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dpor.assumptions import is_known_to_hold
from dpor.checkpoints import Checkpoint
from dpor.codes import Code
from dpor.contents import Kind, key_of
from dpor.results import VERSION, ModelResult, to_json
from dpor_lsp.checking.cached_rows import (
    Counterexample,
    MisfitError,
    digest,
    may_be_kept,
    read_checkpoint,
    read_contents,
    read_counterexample,
    read_result,
    stored_contents,
)
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.fingerprint import Hasher, continuation_key, environment_stamp, request_key

FOLDER = ".dpor_cache"
_LAYOUT = 2
"""Which columns the tables have, and what is in them."""
FILE = f"results-{VERSION}-{_LAYOUT}.sqlite3"
KEPT_PER_MODEL = 20
BUSY_SECONDS = 5.0

Found = TypeVar("Found")

_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This file marks a cache folder of dpor-lsp; see https://bford.info/cachedir/
"""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, contents TEXT NOT NULL, result TEXT NOT NULL, stored REAL NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS results_of_model ON results (model, stored);
CREATE TABLE IF NOT EXISTS stopped (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, contents TEXT NOT NULL, remaining TEXT NOT NULL, stored REAL NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS counterexamples (
    model TEXT PRIMARY KEY, schedule TEXT NOT NULL, parameters TEXT NOT NULL, options TEXT NOT NULL,
    digest TEXT NOT NULL
);
"""


class Cache:
    """Results of one project; to be used from one thread.

    No method raises: a cache that cannot be used is announced once through `warn` (a code and a sentence) and from
    then on finds and keeps nothing. A file that is damaged is set aside first and started afresh. A row that does not
    fit what is asked is dropped, which is announced once. `environment` is the stamp of the interpreter that checks the
    models (None: this one), `directory` the folder that they are checked in (None: the current one).
    """

    def __init__(
        self,
        root: Path,
        warn: Callable[[Code, str], None],
        environment: str | None = None,
        directory: Path | None = None,
    ) -> None:
        self._directory = directory
        self._dropped = False
        self.folder = root / FOLDER
        self._file = self.folder / FILE
        self._warn = warn
        self._hasher = Hasher()
        self._environment = environment or environment_stamp()
        self._connection: sqlite3.Connection | None = None
        self._given_up = False

    def find(self, target: CheckTarget) -> ModelResult | None:
        """Return the kept result of the same check of the same code, marked as cached, or None."""
        return self._guarded(lambda connection: self._find(connection, target))

    def keep(self, target: CheckTarget, result: ModelResult) -> None:
        """Keep a result for `find`, and its counterexample for `last_counterexample`.

        It is kept for the texts that the check has read, and found again as long as those are the texts. Errors, and
        results that a timeout or a cancellation cut short, are not kept.
        """
        self._guarded(lambda connection: self._keep(connection, target, result))

    def find_checkpoint(self, target: CheckTarget) -> Checkpoint | None:
        """Return what is left of a check of the same code that was stopped, or None; forget it if the code changed."""
        return self._guarded(lambda connection: self._find_checkpoint(connection, target))

    def keep_checkpoint(self, target: CheckTarget, checkpoint: Checkpoint | None) -> None:
        """Keep what is left of a check that was stopped, for `find_checkpoint`; None forgets what was kept."""
        self._guarded(lambda connection: self._keep_checkpoint(connection, target, checkpoint))

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
            except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
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

    def _find(self, connection: sqlite3.Connection, target: CheckTarget) -> ModelResult | None:
        text = self._hasher.value(key_of(Kind.FILE, str(target.path)), target.texts)
        key = request_key(target, text, self._environment)
        row = connection.execute(
            "SELECT model, contents, result, digest FROM results WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        try:
            if not self._holds(target, key, row):
                return None
            result = read_result(target, row[2])
        except MisfitError as error:
            self._drop(connection, "results", "key", key, error)
            return None
        return replace(result, line=target.info.line, cached=True)

    def _holds(self, target: CheckTarget, key: str, row: Sequence[object]) -> bool:
        """Whether what a row rests on is as it was. Raises MisfitError for a row that is damaged, or another's."""
        if row[0] != _told(target.info.id) or row[3] != digest(key, *row[:3]):
            raise MisfitError("it was changed")
        contents = read_contents(row[1], target.root)
        if key_of(Kind.FILE, str(target.path)) not in contents:
            raise MisfitError("it does not rest on the model's file")
        return self._hasher.unchanged(contents, target.texts, self._directory)

    def _drop(
        self, connection: sqlite3.Connection, table: str, column: str, value: str, error: MisfitError
    ) -> None:
        with connection:
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (value,))
        if not self._dropped:
            self._dropped = True
            message = f"an entry of the result cache {self.folder} does not fit and was dropped: {error}"
            self._warn(Code.CACHE_CORRUPT, message)

    def _keep(self, connection: sqlite3.Connection, target: CheckTarget, result: ModelResult) -> None:
        if result.violations:
            self._keep_counterexample(connection, target, result)
        if not may_be_kept(result):
            return
        found = self._found_texts(target, result.contents, request_key)
        if found is None:
            return
        key, contents = found
        # What it rests on is in a column of its own.
        row = (_told(result.id), contents, json.dumps(to_json(replace(result, contents={}))))
        with connection:
            connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?)",
                (key, *row, time.time(), digest(key, *row)),
            )
            connection.execute(
                "DELETE FROM results WHERE model = ? AND key NOT IN"
                " (SELECT key FROM results WHERE model = ? ORDER BY stored DESC LIMIT ?)",
                (_told(result.id), _told(result.id), KEPT_PER_MODEL),
            )

    def _found_texts(
        self,
        target: CheckTarget,
        contents: Mapping[str, str],
        key_for: Callable[[CheckTarget, str, str], str],
    ) -> tuple[str, str] | None:
        """The key and the contents to store, for what the check has read; None if that is not known for certain."""
        text = contents.get(key_of(Kind.FILE, str(target.path.resolve())))
        if text is None:
            return None
        here = {key_of(Kind.FILE, str(target.path)): text, **contents}
        stored = stored_contents(here, target.root)
        return None if stored is None else (key_for(target, text, self._environment), stored)

    def _find_checkpoint(self, connection: sqlite3.Connection, target: CheckTarget) -> Checkpoint | None:
        text = self._hasher.value(key_of(Kind.FILE, str(target.path)), target.texts)
        key = continuation_key(target, text, self._environment)
        row = connection.execute(
            "SELECT model, contents, remaining, digest FROM stopped WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        try:
            if self._holds(target, key, row):
                return replace(read_checkpoint(row[2]), contents=read_contents(row[1], target.root))
        except MisfitError as error:
            self._drop(connection, "stopped", "key", key, error)
            return None
        with connection:
            connection.execute("DELETE FROM stopped WHERE key = ?", (key,))
        return None

    def _keep_checkpoint(
        self, connection: sqlite3.Connection, target: CheckTarget, checkpoint: Checkpoint | None
    ) -> None:
        with connection:
            # One for each model is enough, and those of older code must not pile up.
            connection.execute("DELETE FROM stopped WHERE model = ?", (_told(target.info.id),))
            if checkpoint is None or not all(map(is_known_to_hold, checkpoint.assumptions)):
                return
            found = self._found_texts(target, checkpoint.contents, continuation_key)
            if found is None:
                return
            key, contents = found
            row = (_told(target.info.id), contents, json.dumps(to_json(replace(checkpoint, contents={}))))
            connection.execute(
                "INSERT OR REPLACE INTO stopped VALUES (?, ?, ?, ?, ?, ?)",
                (key, *row, time.time(), digest(key, *row)),
            )

    def _keep_counterexample(
        self, connection: sqlite3.Connection, target: CheckTarget, result: ModelResult
    ) -> None:
        request = target.request
        row = (
            _told(result.id),
            result.violations[0].schedule,
            json.dumps(to_json(request.parameters)),
            json.dumps(to_json(request.options)),
        )
        with connection:
            connection.execute(
                "INSERT OR REPLACE INTO counterexamples VALUES (?, ?, ?, ?, ?)", (*row, digest(*row))
            )

    def _last_counterexample(self, connection: sqlite3.Connection, model: str) -> Counterexample | None:
        stored = _told(model)
        row = connection.execute(
            "SELECT schedule, parameters, options, digest FROM counterexamples WHERE model = ?", (stored,)
        ).fetchone()
        if row is None:
            return None
        try:
            if row[3] != digest(stored, *row[:3]):
                raise MisfitError("it was changed")
            return read_counterexample(model, *row[:3])
        except MisfitError as error:
            self._drop(connection, "counterexamples", "model", stored, error)
            return None


def _told(model: str) -> str:
    """A model's id as the database takes it: the name of its file need not be text."""
    return model.encode(errors="backslashreplace").decode()


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
