"""Which interpreter checks the models of a project, and what identifies its installation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.checking.fingerprint import environment_stamp

_PROBE = """
import json, sys
import greenlet, dpor._kernel
from dpor_lsp.checking.fingerprint import environment_stamp
print(json.dumps({"stamp": environment_stamp(), "paths": sys.path}))
"""
_PROBE_SECONDS = 20.0
_FOLDERS = (".venv", "venv")


@dataclass(frozen=True)
class Environment:
    """An interpreter that can check models; `stamp` changes with it and with what is installed for it."""

    interpreter: str
    stamp: str


class Environments:
    """Finds interpreters and remembers what was found out about them; used from one thread.

    Nothing here may be called for a workspace that is not trusted: asking an interpreter means running it.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], list[str], str | DporError]] = {}

    def choose(self, wanted: str | None, root: Path) -> Environment:
        """The environment for a project: the wanted interpreter, the project's own, or this one.

        Raises DporError (DPOR105) if the wanted interpreter cannot check models.
        """
        if wanted is not None:
            path = wanted if os.path.isabs(wanted) else _found(wanted, root)
            return self._environment(path)
        for path in _of_project(root):
            try:
                return self._environment(path)
            except DporError:
                # The project's environment has no dpor-lsp: it is checked as `dpor-lsp --check` would.
                continue
        return self._environment(sys.executable)

    def _environment(self, path: str) -> Environment:
        known = self._known.get(path)
        if known is None or _times(known[1]) != known[0]:
            known = self._known[path] = self._ask(path)
        if isinstance(known[2], DporError):
            raise known[2]
        return Environment(path, known[2])

    def _ask(self, path: str) -> tuple[tuple[int, ...], list[str], str | DporError]:
        if _is_this_interpreter(path):
            paths = _installations(sys.path)
            return _times(paths), paths, environment_stamp()
        try:
            answer = _probe(path)
        except DporError as error:
            paths = [path, str(Path(path).parent.parent)]
            return _times(paths), paths, error
        paths = _installations(answer["paths"])
        return _times(paths), paths, str(answer["stamp"])


def _found(wanted: str, root: Path) -> str:
    """The path of an interpreter that is given by name or relative to the project."""
    below = root / wanted
    return str(below) if below.exists() else shutil.which(wanted) or wanted


def _of_project(root: Path) -> Iterable[str]:
    folders = [root / name for name in _FOLDERS]
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        folders.append(Path(active))
    name = Path("Scripts", "python.exe") if sys.platform == "win32" else Path("bin", "python")
    for folder in folders:
        if (folder / "pyvenv.cfg").is_file() and (folder / name).exists():
            yield sys.executable if _is_this(folder) else str(folder / name)


def _is_this(folder: Path) -> bool:
    return folder.resolve() == Path(sys.prefix).resolve()


def _is_this_interpreter(path: str) -> bool:
    """True for another name of this interpreter in its environment, such as python3 beside python."""
    same_folder = Path(path).parent.resolve() == Path(sys.executable).parent.resolve()
    return same_folder and os.path.realpath(path) == os.path.realpath(sys.executable)


def _probe(path: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [path, "-P", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DporError(
            Code.BAD_OPTION,
            f"the interpreter {path} cannot be run: {error}",
            "set dpor.interpreter to a Python interpreter, 3.11 or newer",
        ) from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        raise DporError(
            Code.BAD_OPTION,
            f"the interpreter {path} cannot check models{said}",
            f"install dpor-lsp for it ({path} -m pip install dpor-lsp), or set dpor.interpreter to another one",
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _installations(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.endswith(("site-packages", "dist-packages"))]


def _times(paths: Iterable[str]) -> tuple[int, ...]:
    times: list[int] = []
    for path in paths:
        try:
            times.append(os.stat(path).st_mtime_ns)
        except OSError:
            times.append(0)
    return tuple(times)
