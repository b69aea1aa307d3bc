"""Settings of the process: each is shared state of the model's threads, and none outlives an execution."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import gc
import linecache
import operator
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from dpor.results import AssumptionKind
from dpor.runtime.outside.asking import is_asked_by_left
from dpor.runtime.outside.remaining import StandIns
from dpor.runtime.outside.world import Footprint, World
from dpor.runtime.patchset import PatchSet


@dataclass(frozen=True)
class _Setting:
    """Two functions of a module: one changes a setting, the other gives what the first takes to restore it.

    The first `which` arguments of both say which one is meant, as the number of a signal does. With `spread` the values
    are a tuple of arguments. Those that are `read_unseen` decide what code does that no
    hook sees. `alias` is a module that has the setter as well.
    """

    module: str
    setter: str
    getter: str
    which: int = 0
    spread: bool = False
    read_unseen: bool = False
    alias: str | None = None


_SETTINGS = (
    _Setting("gc", "set_debug", "get_debug"),
    _Setting("gc", "set_threshold", "get_threshold", spread=True),
    _Setting("gettext", "bindtextdomain", "bindtextdomain", which=1, read_unseen=True),
    _Setting("gettext", "textdomain", "textdomain", read_unseen=True),
    _Setting("locale", "setlocale", "setlocale", which=1, read_unseen=True),
    _Setting("signal", "signal", "getsignal", which=1),
    _Setting("socket", "setdefaulttimeout", "getdefaulttimeout", read_unseen=True),
    _Setting("sys", "set_coroutine_origin_tracking_depth", "get_coroutine_origin_tracking_depth"),
    _Setting("sys", "set_int_max_str_digits", "get_int_max_str_digits", read_unseen=True),
    _Setting("sys", "setrecursionlimit", "getrecursionlimit", read_unseen=True),
    _Setting("sys", "setswitchinterval", "getswitchinterval"),
    _Setting("threading", "stack_size", "stack_size", alias="_thread"),
)
# Lists and dicts that programs change in place or replace, and functions that they replace; the operations themselves
# are seen, but those by which linecache fills its cache.
_CONTAINERS = ((sys, "path"), (sys, "argv"), (warnings, "filters"), (linecache, "cache"))
_HOOKS = (
    ("sys", "excepthook"),
    ("sys", "displayhook"),
    ("sys", "unraisablehook"),
    ("threading", "excepthook"),
)
# What these leave behind: the value that was shown last, a function that translates.
_LEFT_BEHIND = (("builtins", "_"),)
_FILTERS = "warnings.filters"
# Functions in Python by module, with what they change that other functions of the module read.
_CHANGING = {
    "gettext": ("builtins._", ("install",)),
    "importlib": ("what a module that is reloaded defines", ("reload",)),
    "linecache": ("linecache.cache", ("checkcache", "clearcache", "lazycache", "updatecache")),
    "re": ("the cache of re", ("purge",)),
    "warnings": (_FILTERS, ("filterwarnings", "resetwarnings", "simplefilter")),
}
_RECURSION = "setrecursionlimit"
_HIGHEST_LIMIT = 2**31 - 1
_COLLECTION = "whether garbage is collected"
_MISSING: Any = object()


class Settings:
    """The settings of the running execution."""

    def __init__(self, world: World) -> None:
        self._world = world
        # What puts back a setting that was changed: in this execution, and when the model's modules were imported.
        self._changed: dict[tuple[Any, ...], Callable[[], object]] = {}
        self._imported: dict[tuple[Any, ...], Callable[[], object]] = {}
        self._containers: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._hooks: list[tuple[dict[str, Any], str, Any]] = []
        self._collects = True
        # The places that have warned are noted with the version of the filters. Python 3.14 has another name for it.
        old, new = "_filters_mutated", "_filters_mutated_lock_held"
        self._forget_warnings: Callable[[], object] = getattr(warnings, old, None) or getattr(warnings, new)
        self._users: tuple[list[Any], list[Any]] | None = None

    def patch(self, patches: PatchSet) -> None:
        """Put the replacements in place, for modules that are imported; the others are for `on_import`."""
        for setting in _SETTINGS:
            if setting.module in sys.modules and setting.module not in self.on_import(patches):
                self._patch_setting(patches, setting)
        for name in ("enable", "disable", "isenabled"):
            patches.replace(gc, name, self._collecting(name, getattr(gc, name)))
        owner = warnings.catch_warnings
        patches.replace(owner, "__enter__", self._changing_filters(owner.__enter__))
        patches.replace(owner, "__exit__", self._changing_filters(self._leaving_record(owner.__exit__)))
        self._keep_variables()
        self._users = (list(self._containers), list(self._hooks))

    def described(self) -> dict[str, Callable[[ModuleType], StandIns]]:
        """What makes the stand-ins for functions in Python that change a setting, by the module's name."""

        def stand_ins(names: Iterable[str], changed: str, module: ModuleType) -> StandIns:
            return {name: self._changing(changed, vars(module)[name]) for name in names}

        return {
            module: functools.partial(stand_ins, names, changed)
            for module, (changed, names) in _CHANGING.items()
        }

    def _changing(self, changed: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Who reads it is not seen: who warns, who makes a pattern, who asks for a line."""

        @functools.wraps(real)
        def change(*args: Any, **kwargs: Any) -> Any:
            host = self._world.mode.host
            if host.active and not host.is_alone() and self._world.controls() and not is_asked_by_left():
                host.assume(AssumptionKind.CHANGED_DEFINITION.value, changed)
            return real(*args, **kwargs)

        return change

    def _changing_filters(self, real: Callable[..., Any]) -> Callable[..., Any]:
        return self._changing(_FILTERS, real)

    def _leaving_record(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Who warns adds to what is recorded where nobody sees it: threads may have done so in another order."""

        @functools.wraps(real)
        def leave(manager: Any, *exception: Any) -> Any:
            host = self._world.mode.host
            if getattr(manager, "_record", False) and self._world.controls() and host.active:
                # Python 3.14 may keep the list elsewhere.
                log = getattr(vars(warnings)["_showwarnmsg_impl"], "__self__", None)
                if log != [] and host.current_thread().dpor_execution.threads:
                    host.assume(AssumptionKind.UNSEEN_CODE.value, "warnings.warn")
            return real(manager, *exception)

        return leave

    def on_import(self, patches: PatchSet) -> dict[str, Callable[[ModuleType], None]]:
        """What is to be done to modules of the library when they have been imported, by name."""

        def patch(module: ModuleType) -> None:
            for setting in _SETTINGS:
                if setting.module == module.__name__:
                    self._patch_setting(patches, setting)

        return dict.fromkeys(("gettext", "locale"), patch)

    def keep(self) -> None:
        """Let every execution begin with what there is now."""
        for which, put_back in self._changed.items():
            self._imported.setdefault(which, put_back)
        self._changed.clear()
        self._keep_variables()

    def forget(self) -> None:
        """Let every execution begin with the settings of the process, and this one."""
        self._put_back(self._changed)
        self._put_back(self._imported)
        if self._users is not None:
            self._containers, self._hooks = self._users
        self.reset()

    def reset(self) -> None:
        """Go back to what executions begin with."""
        if self._changed:
            self._put_back(self._changed)
        self._collects = True
        for names, name, value, items in self._containers:
            if names[name] is not value or value != items:
                value.clear()
                fill: Callable[[Any], None] = value.update if isinstance(items, dict) else value.extend
                fill(items)
                names[name] = value
        self._forget_warnings()
        for names, name, value in self._hooks:
            if names.get(name, _MISSING) is value:
                continue
            if value is _MISSING:
                del names[name]
            else:
                names[name] = value

    def _keep_variables(self) -> None:
        modules = sys.modules
        self._containers = [
            (vars(module), name, value, value.copy())
            for module, name in _CONTAINERS
            for value in (vars(module)[name],)
        ]
        self._hooks = [
            (vars(modules[module]), name, vars(modules[module]).get(name, _MISSING))
            for module, name in (*_HOOKS, *_LEFT_BEHIND)
        ]

    def _put_back(self, changed: dict[tuple[Any, ...], Callable[[], object]]) -> None:
        while changed:
            changed.popitem()[1]()

    def _patch_setting(self, patches: PatchSet, setting: _Setting) -> None:
        module = sys.modules[setting.module]
        set_real = vars(module)[setting.setter]
        get_real = vars(module)[setting.getter]
        if setting.setter == _RECURSION:
            set_real, get_real = self._limit(set_real, get_real)

        def announce(which: tuple[Any, ...], changes: bool) -> None:
            name = (f"{setting.module}.{setting.setter}{which or ''}",)
            self._world.perform(name[0], lambda: Footprint((), name) if changes else Footprint(name))

        def change(*args: Any, **kwargs: Any) -> Any:
            which = args[: setting.which]
            reads = set_real is get_real and len(args) + len(kwargs) <= setting.which
            if self._world.controls() and len(which) == setting.which:
                host = self._world.mode.host
                if setting.read_unseen and not reads and host.active and not host.is_alone():
                    subject = f"what {setting.module}.{setting.setter} sets"
                    host.assume(AssumptionKind.CHANGED_DEFINITION.value, subject)
                announce(which, changes=not reads)
                key = (setting, *which)
                if not reads and key not in self._changed:
                    value = get_real(*which)
                    values = value if setting.spread else (value,)
                    self._changed[key] = lambda: set_real(*which, *values)
            return set_real(*args, **kwargs)

        def look(*args: Any, **kwargs: Any) -> Any:
            if self._world.controls():
                announce(args[: setting.which], changes=False)
            return get_real(*args, **kwargs)

        change.__name__, look.__name__ = setting.setter, setting.getter
        if set_real is not get_real:
            patches.replace(module, setting.getter, look)
        patches.replace(module, setting.setter, change)
        if setting.alias is not None:
            patches.replace(sys.modules[setting.alias], setting.setter, change)

    def _limit(
        self, set_real: Callable[..., Any], get_real: Callable[..., Any]
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The functions for the recursion limit, without the calls of hooks, which the interpreter counts."""
        host = self._world.mode.host

        def set_limit(*args: Any, **kwargs: Any) -> None:
            limit = operator.index(args[0]) if len(args) == 1 and not kwargs else 0
            if not 0 < limit <= _HIGHEST_LIMIT:
                # It says what is wrong.
                return set_real(*args, **kwargs)
            set_real(min(limit + host.uncounted_calls(), _HIGHEST_LIMIT))
            return host.note_recursion_limit(limit)

        def get_limit(*args: Any, **kwargs: Any) -> int:
            return get_real(*args, **kwargs) if args or kwargs else host.recursion_limit()

        return set_limit, get_limit

    def _collecting(self, name: str, real: Callable[[], Any]) -> Callable[[], Any]:
        """gc.enable and its kin: the check itself runs without collecting."""

        def call() -> Any:
            if not self._world.controls():
                return real()
            names = (_COLLECTION,)
            self._world.perform(
                f"gc.{name}()", lambda: Footprint(names) if name == "isenabled" else Footprint((), names)
            )
            if name == "isenabled":
                return self._collects
            self._collects = name == "enable"
            return None

        call.__name__ = name
        return call
