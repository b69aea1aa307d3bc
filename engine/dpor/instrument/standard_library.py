"""Which modules of the standard library are left as they are; all others with source in Python are instrumented.

A module that is left as it is computes from what it is given. If other threads change that meanwhile, or if an object
is made of a class whose objects change, it is instrumented after all.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType

_DESCRIBED = "dpor.runtime has stand-ins for what it does, and its own code runs on them"
_ANALYSES = "looks at code, types or modules, and keeps nothing that a program shares but caches"
_IMMUTABLE = "its objects do not change once they are made, and it calls nothing of a program"
_TEXT = "computes from texts and numbers, and calls nothing of a program"
_IMPORTS = "runs under locks of its own, between two operations of one thread"
_SYSTEM = "its state is the interpreter's or the system's, set up before a program begins"

LEFT: Mapping[str, str] = {
    # The names that classes of `importlib` have for their modules.
    "_frozen_importlib": _IMPORTS,
    "_frozen_importlib_external": _IMPORTS,
    "_pydatetime": _IMMUTABLE,
    "_py_abc": _ANALYSES,
    "_pyrepl": _SYSTEM,
    "_strptime": _TEXT,
    "_threading_local": _DESCRIBED,
    "abc": _ANALYSES,
    "annotationlib": _ANALYSES,
    "ast": _ANALYSES,
    "asyncio": _DESCRIBED,
    "base64": _TEXT,
    "codecs": _TEXT,
    "concurrent": _DESCRIBED,
    "datetime": _IMMUTABLE,
    "dis": _ANALYSES,
    "encodings": _TEXT,
    "enum": "makes classes and combined flags, which do not change; each execution makes the flags that it combines",
    "fnmatch": _TEXT,
    "fractions": _IMMUTABLE,
    "genericpath": _TEXT,
    "gettext": _SYSTEM,
    "importlib": _IMPORTS,
    "inspect": _ANALYSES,
    "io": "is written in C but for the names of its classes",
    "ipaddress": _IMMUTABLE,
    "keyword": _TEXT,
    "linecache": _ANALYSES,
    "locale": _SYSTEM,
    "ntpath": _TEXT,
    "numbers": _IMMUTABLE,
    "opcode": _ANALYSES,
    "pkgutil": _ANALYSES,
    "platform": _SYSTEM,
    "posixpath": _TEXT,
    "queue": _DESCRIBED,
    "re": "what it makes of a pattern does not change, and its cache only saves making it again",
    "runpy": _ANALYSES,
    "site": _SYSTEM,
    "sre_compile": _TEXT,
    "sre_constants": _TEXT,
    "sre_parse": _TEXT,
    "stat": _TEXT,
    "struct": _TEXT,
    "sysconfig": _SYSTEM,
    "textwrap": _TEXT,
    "threading": _DESCRIBED,
    "token": _TEXT,
    "tokenize": _TEXT,
    "traceback": _ANALYSES,
    "types": "makes classes and wraps coroutines, and keeps nothing",
    "typing": _ANALYSES,
    "uuid": _IMMUTABLE,
    "warnings": _ANALYSES,
    "zipimport": _ANALYSES,
}
"""Modules (with their submodules) whose code is left as it is, each with the reason."""

_UNCHANGING = frozenset(
    {
        # What programs derive their classes from.
        "_py_abc",
        "abc",
        "enum",
        "io",
        "types",
        "typing",
        # Finders, loaders and what they find: the import system's own.
        "_frozen_importlib",
        "_frozen_importlib_external",
        "importlib",
        "zipimport",
        # Set up and taken down by stand-ins.
        "warnings",
        "inspect.Parameter",
        "inspect.Signature",
    }
)
"""Modules whose classes make objects that do not change, and such classes."""

_INCURIOUS: Mapping[str, frozenset[str]] = {
    "inspect": frozenset(
        {
            "isabstract",
            "isasyncgen",
            "isasyncgenfunction",
            "isawaitable",
            "isbuiltin",
            "isclass",
            "iscode",
            "iscoroutine",
            "iscoroutinefunction",
            "isdatadescriptor",
            "isframe",
            "isfunction",
            "isgenerator",
            "isgeneratorfunction",
            "isgetsetdescriptor",
            "ismemberdescriptor",
            "ismethod",
            "ismethoddescriptor",
            "ismodule",
            "isroutine",
            "istraceback",
        }
    ),
    "typing": frozenset({"assert_never", "assert_type", "cast"}),
}
"""Functions that look into nothing that they are given: they pass it on, or ask for its class."""

_ANALYSES_OF_CODE = frozenset(
    {"_py_abc", "abc", "annotationlib", "ast", "dis", "linecache", "opcode", "typing", "warnings"}
)
"""Of the modules that analyse those that do not look at coroutines, frames or tracebacks."""

_SHALLOW: Mapping[str, frozenset[str]] = {
    # Of the namespace of a module they read its name, its loader and its specification.
    "linecache": frozenset({"getline", "getlines", "lazycache", "updatecache"})
}
"""Functions that read the items of what they are given, and nothing in those."""

_AT_ONCE: Mapping[str, frozenset[str]] = {
    "re": frozenset({"escape", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"})
}
"""Functions that hand what they are given to code in C, which reads it in one step."""


# Modules in C that the kernel and stand-ins describe, beside those that have a part in Python.
_IN_C_DESCRIBED = frozenset({"_abc", "_io", "_thread", "_weakref"})
# Their code is instrumented, but code in C works on what they keep as well.
_USED_BY_C = frozenset({"copyreg"})


def is_unseen(module: ModuleType) -> bool:
    """Whether what a module of the standard library keeps is used without being seen.

    Such a one is written in C or left as it is, and stand-ins do not describe it; or code in C uses what it keeps.
    """
    spec = getattr(module, "__spec__", None)
    name = str(getattr(spec, "name", module.__dict__.get("__name__", "")))
    top = name.partition(".")[0]
    if (
        top not in sys.stdlib_module_names
        or LEFT.get(top.lstrip("_")) == _DESCRIBED
        or top in _IN_C_DESCRIBED
    ):
        return False
    return is_native(module) or top in LEFT or top in _USED_BY_C


def is_left(module: str) -> bool:
    """Whether the code of a module, by its dotted name, is left as it is, and does not run on stand-ins."""
    return LEFT.get(module.partition(".")[0], _DESCRIBED) != _DESCRIBED


def is_native(module: ModuleType) -> bool:
    """Whether a module is written in C."""
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader is importlib.machinery.BuiltinImporter or isinstance(
        loader, importlib.machinery.ExtensionFileLoader
    )


def unchanging() -> list[str]:
    """Modules that are left as they are whose classes make objects that do not change, and such classes."""
    return [*_UNCHANGING, *(name for name, reason in LEFT.items() if reason == _IMMUTABLE)]


def incurious() -> list[str]:
    """Functions, with their modules, that look into nothing that they are given."""
    return [f"{module}.{name}" for module, names in _INCURIOUS.items() for name in names]


def is_incurious(module: str, qualified: str) -> bool:
    """Whether a function, by its module and its name there, looks into nothing that it is given."""
    return qualified in _INCURIOUS.get(module, ())


def computes_from_arguments(module: str) -> bool:
    """Whether the code of a module that is left as it is, by its topmost name, looks at nothing that changes but what
    it is given, or runs on stand-ins that do not tell tasks of one thread apart.
    """
    reason = LEFT.get(module)
    return reason is not None and (reason != _ANALYSES or module in _ANALYSES_OF_CODE) and module != "asyncio"


def shallow() -> list[str]:
    """Functions, with their modules, that read the items of what they are given, and nothing in those."""
    return [f"{module}.{name}" for module, names in _SHALLOW.items() for name in names]


def reading_at_once() -> list[str]:
    """Functions, with their modules, that read what they are given in one step."""
    return [f"{module}.{name}" for module, names in _AT_ONCE.items() for name in names]


def described_modules() -> list[str]:
    """The modules that are left as they are and run on stand-ins; all others of them may read what they are given."""
    return [name for name, reason in LEFT.items() if reason == _DESCRIBED]


def is_of_standard_library(module: str) -> bool:
    """Whether the standard library has a module of this dotted name, or may have."""
    return module.partition(".")[0] in sys.stdlib_module_names


def left_modules(named: Iterable[str]) -> list[str]:
    """The modules that are left as they are, if a model names some that it wants to be looked into. Those that run on
    stand-ins stay, because their code is not what runs.
    """
    tops = {module.partition(".")[0] for module in named}
    return [module for module, reason in LEFT.items() if reason == _DESCRIBED or module not in tops]


def standard_modules() -> list[str]:
    """The top-level modules of the standard library."""
    return sorted(sys.stdlib_module_names)
