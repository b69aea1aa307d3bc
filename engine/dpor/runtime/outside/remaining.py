"""The functions in C of the standard library that nothing stands in for.

What they change for the whole process, other threads and executions would find, and no hook sees it. Those that are
known to be harmless pass, the others are refused in an execution. While the model's modules are imported all pass: that
happens once, and every execution begins with what it left.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeGuard

from dpor._kernel import function_behind
from dpor.instrument.standard_library import is_native
from dpor.runtime.outside.asking import is_asked_by_instrumented, is_importing
from dpor.runtime.outside.harmless_functions import FUNCTIONS, TOOLS, WHOLE
from dpor.runtime.outside.world import World
from dpor.runtime.patchset import PatchSet

_WHAT = {
    "_exit": "ends the process",
    "abort": "ends the process",
    "getrandom": "draws from the system",
    "pipe": "makes a pipe",
    "pipe2": "makes a pipe",
}
_MAY_CHANGE = "calls a function in C that may change the process"
_SYSTEM_MODULES = ("posix", "nt")
# Its classes have functions of os as static methods, from Python 3.13 on.
_BINDS_IN_CLASSES = "glob"
_OWN = ("dpor", "dpor_lsp")
_KINDS = frozenset({types.BuiltinFunctionType, types.FunctionType})

StandIns = Mapping[str, Callable[..., Any]]
"""Name of a function in its module to what stands in for it."""


class NativeFunctions:
    """The stand-ins for functions in C, wherever modules have bound them.

    `known` has those that are described, by module; a module may be described when it is first met.
    """

    def __init__(self, world: World, known: Mapping[str, Callable[[ModuleType], StandIns]]) -> None:
        self._world = world
        self._known = known
        # What stands in for which real function, and the reverse.
        self._table: dict[Any, Any] = {}
        self._real: dict[Any, Any] = {}
        # The modules that there were when the stand-ins were put in place, by address.
        self._found: dict[int, ModuleType] = {}

    def add(self, real: Any, stand_in: types.FunctionType) -> None:
        """Have `stand_in` stand in for a function that is no attribute of a module in C."""
        self._table[real] = stand_in
        self._real[stand_in] = real

    def install(self, patches: PatchSet) -> None:
        """Put the stand-ins in place, for what is imported."""
        modules = [module for module in list(sys.modules.values()) if _is_searched(module)]
        self._found = {id(module): module for module in modules}
        for module in modules:
            if module.__name__.partition(".")[0] in sys.stdlib_module_names:
                self._describe(module)
        for module in modules:
            self._replace_in(patches, module)

    def imported(self, patches: PatchSet, module: ModuleType) -> None:
        """Put them in place in a module of the standard library that has been imported after `install`."""
        self._describe(module)
        self._replace_in(patches, module)

    def uninstall(self) -> None:
        """Take them from modules that were imported while they were in place, and have bound them."""
        real = self._real
        later = [module for module in list(sys.modules.values()) if id(module) not in self._found]
        self._found = {}
        for module in later:
            if not _is_searched(module):
                continue
            for name, value in _functions(module):
                if _behind(value) in real:
                    setattr(module, name, real[_behind(value)])

    def table(self) -> Mapping[Any, Any]:
        """What stands in for which real function."""
        return self._table

    def _describe(self, module: ModuleType) -> None:
        name = _name_of(module)
        known: StandIns = self._known[name](module) if name in self._known else {}
        for function, stand_in in known.items():
            real = vars(module)[function]
            self.add(self._real.get(_behind(real), real), stand_in)
        if not is_native(module) or name in WHOLE:
            return
        passed = FUNCTIONS.get(name, frozenset[str]()) | frozenset(known)
        for function, real in _functions(module):
            is_known = function in passed or real in self._table or _behind(real) is not real
            if type(real) is types.BuiltinFunctionType and not is_known:
                self.add(real, self._refused(name, function, real))

    def _refused(self, module: str, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        shown = f"{'os' if module in _SYSTEM_MODULES else module.lstrip('_')}.{name}"
        of_system = module in _SYSTEM_MODULES
        unknown = "calls a function of the system that is not modelled" if of_system else _MAY_CHANGE
        what = f"{_WHAT.get(name, unknown) if of_system else unknown} ({shown})"
        is_tool = name in TOOLS.get(module, ())

        def call(*args: Any, **kwargs: Any) -> Any:
            world = self._world
            if (
                world.controls()
                and world.mode.host.active
                and not (is_tool and not is_asked_by_instrumented())
            ):
                if is_importing():
                    return real(*args, **kwargs)
                world.refuse(f"{what}, which cannot be controlled")
            return real(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = real.__doc__
        call.__module__ = module
        return call

    def _replace_in(self, patches: PatchSet, module: ModuleType) -> None:
        """Replace what a module has bound, also in its classes as static methods."""
        table = self._table
        for name, value in _functions(module):
            if value in table:
                patches.replace(module, name, table[value])
        if module.__name__ != _BINDS_IN_CLASSES:
            return
        for owner in [value for value in vars(module).values() if isinstance(value, type)]:
            for name, value in list(vars(owner).items()):
                if (
                    isinstance(value, staticmethod)
                    and type(value.__func__) in _KINDS
                    and value.__func__ in table
                ):
                    stand_in = patches.alike(table[value.__func__], value.__func__)
                    patches.replace(owner, name, staticmethod(stand_in))


def _functions(module: ModuleType) -> list[tuple[str, Any]]:
    names = vars(module)
    # Some ten thousand names are looked at in each check, so this has no loop in Python.
    return list(itertools.compress(names.items(), map(_KINDS.__contains__, map(type, names.values()))))


def _behind(value: Any) -> Any:
    """What stands in, as it is known here: the function in Python that one in C calls."""
    return function_behind(value) or value


def _name_of(module: ModuleType) -> str:
    # Some modules in C say that they are the one in Python which they are a part of.
    return str(getattr(vars(module).get("__spec__"), "name", module.__name__))


def _is_searched(module: Any) -> TypeGuard[ModuleType]:
    # Programs put what they like among the modules, and the checker works with the real functions.
    if not isinstance(module, ModuleType):
        return False
    name: object = vars(module).get("__name__")
    return isinstance(name, str) and name.partition(".")[0] not in _OWN
