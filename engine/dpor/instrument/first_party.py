"""Which files and modules are the user's own code."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

# Modules of the checker itself and of what it runs on: instrumenting them would have no end.
OWN_MODULES = frozenset({"dpor", "dpor_lsp", "greenlet"})
# Operators of symbolic values run the solver in the middle of a model.
RUN_ON = OWN_MODULES | {"z3"}
FOREIGN_FOLDERS = frozenset(
    {"site-packages", "dist-packages", "node_modules", "__pypackages__", "__pycache__", "venv", "virtualenv"}
)


def is_foreign_folder(folder: Path) -> bool:
    """True for a folder that holds no first-party code: hidden, a virtual environment, installed packages."""
    name = folder.name
    return name in FOREIGN_FOLDERS or name.startswith(".") or (folder / "pyvenv.cfg").is_file()


class FirstParty:
    """Decides what to instrument: files under `root` and modules of the named packages.

    `root` is an absolute folder; `packages` are dotted names, submodules included. Files are given by their paths.
    """

    def __init__(self, root: Path, packages: tuple[str, ...]) -> None:
        self._root = root.resolve()
        self._packages = packages
        library = sysconfig.get_paths()["stdlib"]
        self._standard_library = Path(library).resolve()
        is_inside = self._root.is_relative_to(self._standard_library)
        # What the files of the standard library begin with, if none of them can be under the root.
        self._in_library = () if is_inside else (library + os.sep,)
        # Every module that is loaded is asked for, and most share a folder with others.
        self._under_root: dict[str, bool] = {}
        self._foreign: dict[Path, bool] = {self._root: False}

    def includes(self, module_name: str, file: str) -> bool:
        """True if the module of this name in this file is to be instrumented."""
        if module_name.partition(".")[0] in OWN_MODULES or module_name == "__main__":
            return False
        if self._is_named(module_name):
            return True
        # By far most modules, asked for without a look at their files.
        if file.startswith(self._in_library) and "site-packages" not in file:
            return False
        return self._is_under_root(file)

    def owns(self, module_name: str, file: str) -> bool:
        """True if the module of this name in this file is the user's own code, and not of a named package."""
        return not self._is_named(module_name) and self._is_under_root(file)

    def _is_named(self, module_name: str) -> bool:
        return any(
            module_name == package or module_name.startswith(f"{package}.") for package in self._packages
        )

    def _is_under_root(self, file: str) -> bool:
        if os.path.islink(file):
            return self._is_own_folder(Path(file).resolve().parent)
        parent = os.path.dirname(file)
        known = self._under_root.get(parent)
        if known is None:
            known = self._under_root[parent] = self._is_own_folder(Path(parent).resolve())
        return known

    def _is_own_folder(self, folder: Path) -> bool:
        return folder.is_relative_to(self._root) and not self._is_foreign(folder)

    def _is_foreign(self, folder: Path) -> bool:
        known = self._foreign.get(folder)
        if known is None:
            known = (
                folder == self._standard_library
                or is_foreign_folder(folder)
                or self._is_foreign(folder.parent)
            )
            self._foreign[folder] = known
        return known
