"""When a kept result still holds: what it depended on, and whether that is unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dpor import codes
from dpor.contents import Kind, current, digest_of_text, key_of, parts_of
from dpor.results import VERSION, to_json
from dpor_lsp.checking.check_target import CheckTarget

SET_FOR_WORKERS = frozenset({"PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONFAULTHANDLER"})
_OF_THE_LIBRARY = frozenset({"LANG", "LC_ALL", "LC_CTYPE", "TZ"})
_SETTLED_NS = 2_000_000_000
"""How long a file has to have been left alone before its times are trusted: file systems count in steps."""
_CODE_SUFFIXES = (".py", ".so", ".pyd", ".dylib")


class Hasher:
    """Says what files and folders hold now.

    A file is read again unless nothing can have changed: its identity, size and times are the same, among them the time
    of its last change, which no program sets, and that was long enough before it was read for a later one to show.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def value(self, key: str, texts: Mapping[Path, str] | None = None) -> str:
        """The value of a key of `dpor.contents`; `texts` are used instead of files' contents, by path.

        Raises ValueError for what is no key.
        """
        kind, path, _ = parts_of(key)
        if kind is not Kind.FILE:
            return current(key)
        if texts:
            text = texts.get(Path(path))
            text = texts.get(Path(path).resolve()) if text is None else text
            if text is not None:
                return digest_of_text(text)
        return self._of_file(key, path)

    def hash(self, path: Path) -> str:
        """The value of a file, or of a folder's names."""
        if path.is_dir():
            return current(key_of(Kind.NAMES, str(path)))
        return self._of_file(key_of(Kind.FILE, str(path)), str(path))

    def unchanged(
        self, contents: Mapping[str, str], texts: Mapping[Path, str], directory: Path | None
    ) -> bool:
        """Whether all that a check has read is as it was; `directory` is where it would be made (None: here)."""
        for key, value in contents.items():
            here = directory is not None and parts_of(key)[0] is Kind.CURRENT_FOLDER
            if (str(directory) if here else self.value(key, texts)) != value:
                return False
        return True

    def _of_file(self, key: str, path: str) -> str:
        stamp = _stamp(path)
        known = self._known.get(key)
        if known is not None and stamp is not None and known[0] == stamp:
            return known[1]
        now = time.time_ns()
        value = current(key)
        if stamp is not None and stamp[-1] < now - _SETTLED_NS and stamp == _stamp(path):
            self._known[key] = (stamp, value)
        return value


def _stamp(path: str) -> tuple[int, ...] | None:
    """What differs after any change of a file, given some time; None where the system does not tell that."""
    # The time of the last change is that of the creation there.
    if sys.platform == "win32":
        return None
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def request_key(target: CheckTarget, text: str, environment: str) -> str:
    """Return a hash of all that a result depends on and that is known before the check.

    That is the value of the model's file, the options and parameters, and `environment`. A timeout is left out: a
    result that it cut short is never kept, and the others do not depend on it.
    """
    return _key(target, text, environment, without=("timeout",))


def continuation_key(target: CheckTarget, text: str, environment: str) -> str:
    """Return a hash of all that what is left of a check depends on: as `request_key`, but without its bounds."""
    return _key(target, text, environment, without=("timeout", "max_executions"))


def _key(target: CheckTarget, text: str, environment: str, without: tuple[str, ...]) -> str:
    request = target.request
    options = {name: value for name, value in request.options.items() if name not in without}
    parts = [
        target.info.id,
        text,
        to_json(request.parameters),
        to_json(options),
        request.all_violations,
        environment,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()


def environment_stamp() -> str:
    """Return a text that changes with the engine, the interpreter and what is installed for it."""
    parts: list[object] = [
        VERSION,
        platform.python_implementation(),
        sys.version,
        sys.platform,
        *_variables(),
        *_code_stamp(Path(codes.__file__).parent),
        *_code_stamp(Path(__file__).parent.parent),
        *_installation_stamp(sys.path),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _variables() -> Iterator[object]:
    """Yield the variables that the interpreter reads before any code of a model can, except those set for workers."""
    for name, value in sorted(os.environ.items()):
        if (name.startswith("PYTHON") and name not in SET_FOR_WORKERS) or name in _OF_THE_LIBRARY:
            yield name, value


def _code_stamp(package: Path) -> Iterator[object]:
    """Yield name and content of every code file of ours, so that a developer's change counts."""
    with os.scandir(package) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _code_stamp(Path(entry.path))
            elif entry.name.endswith(_CODE_SUFFIXES):
                yield entry.name, current(key_of(Kind.FILE, entry.path))


def _installation_stamp(paths: Iterable[str]) -> Iterator[object]:
    """Yield the times of the folders of installed packages: installing, upgrading and removing changes them."""
    for path in paths:
        if path.endswith(("site-packages", "dist-packages")):
            try:
                yield path, os.stat(path).st_mtime_ns
            except OSError:
                continue


def dependency_files(target: CheckTarget, dependencies: Iterable[str]) -> list[Path]:
    """Return the files that a result depended on, the model's own file among them."""
    return sorted({target.path, *(target.root / name for name in dependencies)})
