"""When a kept result still holds: what it depended on, and whether that is unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dpor import codes
from dpor.reading import read_file
from dpor.results import VERSION, to_json
from dpor_lsp.subjects import Subject

_CODE_SUFFIXES = (".py", ".so", ".pyd", ".dylib")


class Hasher:
    """Hashes files, each content once: a file is read again when its time, size or identity has changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def hash(self, path: Path, texts: Mapping[Path, str] | None = None) -> str | None:
        """Return the hash of the file's content, or of a folder's names, or None if there is none that can be read.

        `texts` holds, by path, what is used instead of files' contents.
        """
        if texts and path in texts:
            return hashlib.sha256(texts[path].encode(errors="surrogatepass")).hexdigest()
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            if stat.S_ISDIR(status.st_mode):
                content = "\0".join(sorted(os.listdir(path))).encode(errors="surrogateescape")
            else:
                content = read_file(path, most=None)
            digest = hashlib.sha256(content).hexdigest()
        except OSError:
            return None
        self._known[path] = (stamp, digest)
        return digest


def request_key(subject: Subject, hasher: Hasher, environment: str) -> str:
    """Return a hash of all that a result depends on and that is known before the check.

    That is the model's file, the options and parameters, and `environment`. A timeout is left out: a result that it
    cut short is never kept, and the others do not depend on it.
    """
    return _key(subject, hasher, environment, without=("timeout",))


def continuation_key(subject: Subject, hasher: Hasher, environment: str) -> str:
    """Return a hash of all that what is left of a check depends on: as `request_key`, but without its bounds."""
    return _key(subject, hasher, environment, without=("timeout", "max_executions"))


def _key(subject: Subject, hasher: Hasher, environment: str, without: tuple[str, ...]) -> str:
    request = subject.request
    options = {name: value for name, value in request.options.items() if name not in without}
    parts = [
        subject.info.id,
        hasher.hash(subject.path, subject.texts),
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
        os.environ.get("PYTHONPATH", ""),
        *_engine_stamp(Path(codes.__file__).parent),
        *_installation_stamp(sys.path),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _engine_stamp(package: Path) -> Iterator[object]:
    """Yield name, size and time of every code file of the engine, so that a developer's rebuild counts."""
    with os.scandir(package) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _engine_stamp(Path(entry.path))
            elif entry.name.endswith(_CODE_SUFFIXES):
                status = entry.stat()
                yield entry.name, status.st_size, status.st_mtime_ns


def _installation_stamp(paths: Iterable[str]) -> Iterator[object]:
    """Yield the times of the folders of installed packages: installing, upgrading and removing changes them."""
    for path in paths:
        if path.endswith(("site-packages", "dist-packages")):
            try:
                yield path, os.stat(path).st_mtime_ns
            except OSError:
                continue


def dependency_files(subject: Subject, dependencies: Iterable[str]) -> list[Path]:
    """Return the files that a result depended on, the model's own file among them."""
    return sorted({subject.path, *(subject.root / name for name in dependencies)})
