"""What a check rests on outside of its process, by content: what it has read, and where it looked for modules.

Each thing has a key, a kind and what it is about (`file:PATH`, `module:NAME:FOLDER`), and a value that `current` gives
again as long as nothing has changed. Times and sizes say nothing here: whoever replaces a file may keep them.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import os
import stat
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpor.codes import Code
from dpor.reading import read_file
from dpor.results import ModelResult, Reason, Verdict
from dpor.runtime.outside.real import open_file, system

_OWN = frozenset({"dpor", "dpor_lsp"})
ABSENT = "absent"
UNSTABLE = "unstable"
"""The value of what has changed during the check: it is never that of anything."""


class Kind(enum.StrEnum):
    """What a key is about."""

    FILE = "file"
    """The content of a file, and that there is one."""
    NAMES = "names"
    """The names in a folder."""
    MODULE = "module"
    """What a folder holds that a module can be imported from."""
    CURRENT_FOLDER = "current-folder"
    """What relative paths are relative to."""


def key_of(kind: Kind, path: str, module: str = "") -> str:
    """The key of a file or folder; `module` is what was looked for in it."""
    return f"{kind}:{module}:{path}" if kind is Kind.MODULE else f"{kind}:{path}"


def parts_of(key: str) -> tuple[Kind, str, str]:
    """The kind, the path and the module of a key. Raises ValueError for what is no key."""
    kind, _, path = key.partition(":")
    module = ""
    if kind == Kind.MODULE:
        module, _, path = path.partition(":")
    return Kind(kind), path, module


def digest_of_text(text: str | bytes) -> str:
    """The value of a file with this content."""
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    return hashlib.sha256(content).hexdigest()


def current(key: str) -> str:
    """The value that a key has now. Raises ValueError for what is no key."""
    kind, path, module = parts_of(key)
    match kind:
        case Kind.FILE:
            return _of_file(path)
        case Kind.NAMES:
            return _of_names(_listed(path))
        case Kind.MODULE:
            return _of_candidates(path, module, _listed(path))
        case Kind.CURRENT_FOLDER:
            return _current_folder()


def joined(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What several processes rest on that explored parts of one check."""
    known: dict[str, str] = {}
    for part in parts:
        for key, value in part.items():
            known[key] = value if known.get(key, value) == value else UNSTABLE
    return known


def incomplete_if_changed(result: ModelResult) -> ModelResult:
    """The result, or `incomplete` instead of `verified` if something changed that executions have read."""
    changed = [key for key, value in result.contents.items() if value == UNSTABLE]
    if result.verdict is not Verdict.VERIFIED or not changed:
        return result
    reason = Reason(
        Code.CANCELLED,
        f"{parts_of(changed[0])[1]} changed while the model was checked: not all executions have read the same",
        "check it again",
    )
    return dataclasses.replace(result, verdict=Verdict.INCOMPLETE, reason=reason)


class Contents:
    """What one check has read. What it reads as a text it reads once: every execution has the same code."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._texts: dict[str, bytes] = {}
        self._folders: dict[str, Sequence[str] | None] = {}
        self._states: dict[str, object] = {}
        self._installed = _installed_folders()
        # Most modules share a folder with others.
        self._known: dict[str, bool] = {}

    def text(self, path: str) -> bytes:
        """The text of a source file, as it was when it was first asked for. Raises OSError."""
        known = self._texts.get(path)
        if known is None:
            known = self._texts[path] = read_file(Path(path))
            self._values[key_of(Kind.FILE, path)] = digest_of_text(known)
        return known

    def note_text(self, path: str, text: str) -> None:
        """Note the text that stands in for a file."""
        self._values[key_of(Kind.FILE, path)] = digest_of_text(text)

    def note_file(self, path: str) -> None:
        """Note what a file holds, or that there is none; it is about to be read."""
        key = key_of(Kind.FILE, path)
        if key not in self._values:
            self._states[key] = _state(path)
            self._values[key] = _of_file(path)

    def note_names(self, path: str) -> None:
        """Note the names in a folder."""
        self._values.setdefault(key_of(Kind.NAMES, path), _of_names(_listed(path)))

    def note_search(self, module: str, folders: Iterable[object]) -> None:
        """Note what each of the folders holds for a module that is looked for in them."""
        name = module.rpartition(".")[2]
        for entry in folders:
            if not isinstance(entry, str) or self._is_installed(entry):
                continue
            folder = entry or os.curdir
            if not os.path.isabs(folder):
                self.note_current_folder()
                folder = os.path.join(_current_folder(), folder)
            key = key_of(Kind.MODULE, folder, name)
            if key not in self._values:
                if folder not in self._folders:
                    self._folders[folder] = _listed(folder)
                self._values[key] = _of_candidates(folder, name, self._folders[folder])

    def note_loaded(self) -> None:
        """Note the files of modules that were there before the check, such as `sitecustomize`."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in _OWN or name == "__main__":
                continue
            file: object = getattr(module, "__file__", None)
            if (
                isinstance(file, str)
                and os.path.isabs(file)
                and not self._is_installed(os.path.dirname(file))
            ):
                self.note_file(file)

    def note_current_folder(self) -> None:
        """Note which folder relative paths are relative to."""
        key = key_of(Kind.CURRENT_FOLDER, "")
        if key not in self._values:
            self._values[key] = _current_folder()

    def values(self) -> dict[str, str]:
        """What was noted, by key; what was read in parts and is not as it was then is unstable."""
        for key, state in self._states.items():
            if _state(parts_of(key)[1]) != state:
                self._values[key] = UNSTABLE
        return dict(sorted(self._values.items()))

    def is_of_library(self, path: str) -> bool:
        """True for a file of the standard library, which changes with the interpreter alone."""
        folder = os.path.dirname(path)
        return "site-packages" not in path and "dist-packages" not in path and self._is_installed(folder)

    def _is_installed(self, folder: str) -> bool:
        known = self._known.get(folder)
        if known is None:
            real = os.path.normpath(folder) + os.sep
            known = self._known[folder] = real.startswith(self._installed) or real.endswith(
                (f"site-packages{os.sep}", f"dist-packages{os.sep}")
            )
        return known


def _installed_folders() -> tuple[str, ...]:
    """Where the interpreter, this product and installed packages are: the stamp of the environment is about them."""
    paths = sysconfig.get_paths()
    own = os.path.dirname(os.path.abspath(__file__))
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {own}
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    folders |= {os.path.join(sys.base_prefix, sys.platlibdir, archive)}
    return tuple(sorted({os.path.normpath(folder) + os.sep for folder in folders}))


def _of_file(path: str) -> str:
    try:
        mode = system.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open_file(path, "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return ABSENT
    return f"special-{stat.S_IFMT(mode):o}"


def _of_names(names: Sequence[str] | None) -> str:
    return ABSENT if names is None else digest_of_text("\0".join(names))


def _of_candidates(folder: str, module: str, names: Sequence[str] | None) -> str:
    if names is None:
        return ABSENT
    found = [name for name in names if name == module or name.startswith(f"{module}.")]
    if module in found:
        # A folder that becomes a package comes before a file of the name.
        inside = _listed(os.path.join(folder, module)) or ()
        found += [f"{module}/{name}" for name in inside if name.startswith("__init__.")]
    return digest_of_text("\0".join(found))


def _listed(path: str) -> Sequence[str] | None:
    try:
        return sorted(system.listdir(path))
    except (OSError, ValueError):
        return None


def _current_folder() -> str:
    try:
        return system.getcwd()
    except OSError:
        return ABSENT


def _state(path: str) -> object:
    """What changes with every change of a file that goes through the file system, whatever is done to its times."""
    try:
        status = system.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return stat.S_IFMT(status.st_mode)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
