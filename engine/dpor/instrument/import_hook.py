"""Imports the user's modules instrumented, and afresh for each execution that needs it."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import linecache
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol

from dpor.contents import Contents
from dpor.errors import DporError, too_deep
from dpor.instrument.coverage import put_array
from dpor.instrument.first_party import OWN_MODULES, RUN_ON, FirstParty
from dpor.instrument.hooks import Namespaces, is_temporary
from dpor.instrument.library_code import Treatment, library_code
from dpor.instrument.transformer import compile_instrumented
from dpor.lines import split_lines
from dpor.results import SourceSpan

_Key = tuple[object, ...]
Context = Callable[[], contextlib.AbstractContextManager[None]]
ImportContext = Callable[[str], contextlib.AbstractContextManager[None]]


class CodeCache:
    """Instrumented code by path; an entry is used as long as the text is the same."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[_Key, CodeType]] = {}

    def compile(
        self,
        path: str,
        source: str | bytes,
        rebound: frozenset[str],
        *,
        marks_lines: bool = False,
        sees_operands: bool = False,
    ) -> CodeType:
        """The instrumented code of a text that stands in the file. Raises SyntaxError if it is not valid Python."""
        key: _Key = (type(source), source, rebound, marks_lines, sees_operands)
        entry = self._entries.get(path)
        if entry is None or entry[0] != key:
            code = compile_instrumented(
                source, path, rebound, marks_lines=marks_lines, sees_operands=sees_operands
            )
            entry = (key, code)
            self._entries[path] = entry
        return entry[1]


def _nobody(code: object) -> None:
    """Told of code, or of an error, that nobody asks for."""


class Imports(Protocol):
    """Who is told of the imports of instrumented modules."""

    def search(self, name: str, folders: Sequence[str]) -> None:
        """A module is looked for in these folders."""

    def load(self, spec: ModuleSpec) -> None:
        """A module is about to be loaded from `spec`."""

    def loaded(self, name: str) -> None:
        """The body of a module has run."""

    def is_late(self, name: str) -> bool:
        """Whether a module is loaded by an execution, which is the only one that has it."""
        ...


class _NoImports:
    """Told of imports where nobody asks for them."""

    def search(self, name: str, folders: Sequence[str]) -> None:
        pass

    def load(self, spec: ModuleSpec) -> None:
        pass

    def loaded(self, name: str) -> None:
        pass

    def is_late(self, name: str) -> bool:
        return False


class Instrumentation:
    """A `sys.meta_path` finder that instruments first-party modules and those of named packages.

    `root` is the folder that counts as first-party (virtual environments in it do not); `packages` are dotted names
    of further packages; `namespaces` is told of theirs; `overlay` gives the text to use
    in place of a file's content, by path; `rebound` names, by module, globals that are rebound from outside.
    A `code_cache` can be shared between instances. `reached` tells which lines of the file `covered` were reached.
    `tell` is called with the code of each module before it runs, and `refuse` with the error of one that cannot be
    instrumented, which `refusal` holds afterwards. `contents` notes what is read and looked for.
    `imports` is told of the imports of modules. `asleep` is a context in which work of the checker is no part of an
    execution, `importing_unseen` one in which the body of a module of that name runs that is not looked into: the
    module stays imported. Without the latter, such modules do not say that they run.
    """

    def __init__(
        self,
        root: Path,
        packages: tuple[str, ...],
        namespaces: Namespaces,
        overlay: Mapping[Path, str] | None = None,
        rebound: Mapping[str, frozenset[str]] | None = None,
        code_cache: CodeCache | None = None,
        covered: Path | None = None,
        asleep: Context = contextlib.nullcontext,
        importing_unseen: ImportContext | None = None,
        tell: Callable[[CodeType], object] = _nobody,
        contents: Contents | None = None,
        refuse: Callable[[DporError], object] = _nobody,
        imports: Imports | None = None,
    ) -> None:
        self.contents = contents or Contents()
        self.covered = covered
        self.reached = bytearray()
        self.modules: list[str] = []
        # Those of them that the running execution has imported.
        self._late: list[str] = []
        # Packages without a file, which have no body; those that the running execution has imported, and the others.
        self._late_folders: list[str] = []
        self._folders: list[str] = []
        self.files: set[Path] = set()
        self.rebound: Mapping[str, frozenset[str]] = rebound or {}
        self.sees_operands = False
        """Whether modules that are loaded from now on tell of operators with a literal operand, too."""
        self._namespaces = namespaces
        # A program can load a module a second time.
        self._entered: dict[str, list[dict[str, Any]]] = {}
        self._first_party = FirstParty(root, packages)
        self._overlay = {str(path.resolve()): text for path, text in (overlay or {}).items()}
        self._code = code_cache or CodeCache()
        self._found: dict[str, ModuleSpec] = {}
        self._loaded: dict[str, Path] = {}
        self._displaced: dict[str, ModuleType] = {}
        self._asleep = asleep
        self._importing_unseen = importing_unseen
        self._tell = tell
        self._root = root.resolve()
        self._refuse = refuse
        self.imports = imports or _NoImports()
        self._looked_into: dict[str, bool] = {}
        self.refusal: DporError | None = None

    def install(self) -> None:
        """Start to instrument imports; modules that were imported without it are set aside until `uninstall`."""
        if self in sys.meta_path:
            return
        self.contents.note_loaded()
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file.endswith(".py") and self._first_party.includes(name, file):
                self._displaced[name] = module
                _forget(name)
        sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Stop, drop every instrumented module and put back those that were set aside."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._drop()
        for path in self._overlay:
            linecache.cache.pop(path, None)
        for name, module in self._displaced.items():
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], child, module)
        self._displaced.clear()

    def load_file(self, path: Path, module_name: str) -> ModuleType:
        """Run a file as the module `module_name`, instrumented, and return the module.

        For a dotted name the parent package is imported first. Raises what the module's body raises, SyntaxError
        for invalid Python and OSError for a file that cannot be read.
        """
        path = path.resolve()
        parent_name, _, child = module_name.rpartition(".")
        parent = importlib.import_module(parent_name) if parent_name else None
        loader = InstrumentingLoader(module_name, str(path), self)
        spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
        if spec is None:
            raise ImportError(f"{path} is not a Python file", name=module_name, path=str(path))
        self._loaded[module_name] = path
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            sys.modules.pop(module_name, None)
            raise
        if parent is not None:
            setattr(parent, child, module)
        self._late.clear()
        return sys.modules[module_name]

    def begin(self) -> None:
        """Begin an execution: what the one before has imported this one imports itself, as a new process would."""
        for name in self._late:
            self._leave(name)
            self.modules.remove(name)
        for name in self._late_folders:
            _forget(name)
        self._late_folders.clear()
        if self._late:
            # Their classes can be found by way of those that they derive from.
            gc.collect()
        self._late.clear()

    def reload_all(self) -> dict[str, ModuleType]:
        """Drop the instrumented modules and run the files given to `load_file` again; they import the rest afresh.

        Returns those files' modules by name.
        """
        self._drop()
        return {name: self.load_file(path, name) for name, path in list(self._loaded.items())}

    def _drop(self) -> None:
        for name in self.modules:
            self._leave(name)
        for name in (*self._folders, *self._late_folders):
            _forget(name)
        self.modules.clear()
        self._folders.clear()
        self._late_folders.clear()
        self._late.clear()

    def _leave(self, name: str) -> None:
        _forget(name)
        for namespace in self._entered.pop(name, ()):
            self._namespaces.leave_namespace(namespace)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as the other finders do, and take it over if it is to be instrumented."""
        if _top(fullname) in OWN_MODULES:
            return None
        self.imports.search(fullname, sys.path if path is None else path)
        known = self._found.get(fullname)
        if known is not None and known.origin is not None:
            return self._own_spec(fullname, known.origin, known.submodule_search_locations)
        self.contents.note_search(fullname, sys.path if path is None else path)
        for finder in sys.meta_path:
            if isinstance(finder, Instrumentation) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return self._take_over(fullname, spec)
        return None

    def _take_over(self, fullname: str, spec: ModuleSpec) -> ModuleSpec | None:
        origin = spec.origin
        if origin is None and spec.submodule_search_locations is not None and self.looks_into(fullname):
            # A folder without an __init__.py.
            self.imports.load(spec)
            (self._late_folders if self.imports.is_late(fullname) else self._folders).append(fullname)
            return spec
        if (
            not spec.has_location
            or origin is None
            or not origin.endswith(".py")
            or not Path(origin).is_file()
        ):
            if spec.has_location and origin is not None and not self.contents.is_of_library(origin):
                self.contents.note_file(origin)
            return None
        if not self._first_party.includes(fullname, origin):
            return self._marked(fullname, spec)
        self._found[fullname] = spec
        return self._own_spec(fullname, origin, spec.submodule_search_locations)

    def _marked(self, fullname: str, spec: ModuleSpec) -> ModuleSpec | None:
        """Have a module of a package that is not looked into say that it runs; None if it is not such a module."""
        top = _top(fullname)
        known = top in sys.stdlib_module_names or top in RUN_ON or top == "__main__"
        origin = str(spec.origin)
        if not known and not self.contents.is_of_library(origin):
            self.contents.note_file(origin)
        if self._importing_unseen is None or known or type(spec.loader) is not SourceFileLoader:
            return None
        spec.loader = MarkingLoader(fullname, origin, self._importing_unseen, self.contents)
        return spec

    def _own_spec(self, fullname: str, origin: str, locations: list[str] | None) -> ModuleSpec | None:
        loader = InstrumentingLoader(fullname, origin, self)
        spec = importlib.util.spec_from_file_location(
            fullname, origin, loader=loader, submodule_search_locations=locations
        )
        if spec is not None:
            self.imports.load(spec)
        return spec

    def looks_into(self, name: str) -> bool:
        """Whether a module of this name would be instrumented, as far as the package that it is in tells."""
        top = _top(name)
        known = self._looked_into.get(top)
        if known is None:
            # To look for it asks again.
            self._looked_into[top] = False
            known = self._finds_own(top)
            if known is None:
                # It may be there later.
                del self._looked_into[top]
                return False
            self._looked_into[top] = known
        return known

    def _finds_own(self, top: str) -> bool | None:
        """Whether what is found by a name is to be instrumented; None if nothing is."""
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            return None
        if spec is None:
            return None
        places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
        # A folder without an __init__.py is a package, too.
        return any(self._first_party.includes(top, str(place)) for place in places)

    def invalidate_caches(self) -> None:
        """Look for modules anew, as after files were added."""
        self._found.clear()
        self._looked_into.clear()

    def overlay_of(self, path: str) -> str | None:
        """The text that stands in for the file, if any."""
        return self._overlay.get(str(Path(path).resolve())) if self._overlay else None

    def source(self, path: str) -> str | bytes:
        """The text of a file that every execution runs: what stands in for it, or its content when first read.

        Raises OSError.
        """
        overlay = self.overlay_of(path)
        if overlay is None:
            return self.contents.text(path)
        self.contents.note_text(path, overlay)
        return overlay

    def code(self, module_name: str, path: str) -> CodeType:
        """The instrumented code of a module; raises OSError or SyntaxError."""
        # An execution may import it: what this uses of the library may be instrumented, and is no part of that.
        with self._asleep():
            return self._compiled(module_name, path)

    def _compiled(self, module_name: str, path: str) -> CodeType:
        overlay = self.overlay_of(path)
        if overlay is not None:
            lines = split_lines(overlay, keepends=True)
            linecache.cache[path] = (len(overlay), None, lines, path)
        rebound = self.rebound.get(module_name, frozenset())
        try:
            code = self._code.compile(
                path,
                self.source(path),
                rebound,
                marks_lines=self._is_covered(path),
                sees_operands=self.sees_operands,
            )
        except RecursionError as error:
            raise self._refused(too_deep(self._shown(path))) from error
        except DporError as error:
            line = error.span.line if error.span is not None else 1
            span = SourceSpan(self._shown(path), line)
            raise self._refused(DporError(error.code, error.message, error.fix, span)) from error
        self._tell(code)
        return code

    def _refused(self, error: DporError) -> DporError:
        # Code that catches what its imports raise must not go on as if it were checked.
        self.refusal = self.refusal or error
        self._refuse(error)
        return error

    def _shown(self, path: str) -> str:
        file = Path(path)
        return file.relative_to(self._root).as_posix() if file.is_relative_to(self._root) else path

    def enter(self, module: ModuleType, path: str) -> None:
        """Give a module its hooks before its body runs, and remember that it is instrumented."""
        if module.__name__ not in self.modules:
            self.modules.append(module.__name__)
            if self.imports.is_late(module.__name__):
                self._late.append(module.__name__)
        self.files.add(Path(path))
        first_party = module.__name__ in self._loaded or self._first_party.owns(module.__name__, path)
        self._entered.setdefault(module.__name__, []).append(module.__dict__)
        self._namespaces.enter_namespace(module.__dict__, first_party)
        if self._is_covered(path):
            if not self.reached:
                source = self.source(path)
                # Decoded: an encoding such as unicode_escape makes lines that the file does not have.
                text = source if isinstance(source, str) else importlib.util.decode_source(source)
                self.reached = bytearray(len(split_lines(text)) + 2)
            put_array(path, self.reached)

    def _is_covered(self, path: str) -> bool:
        return self.covered is not None and Path(path) == self.covered


class MarkingLoader(SourceFileLoader):
    """Loads one source file whose functions say that they run."""

    def __init__(self, fullname: str, path: str, importing: ImportContext, contents: Contents) -> None:
        super().__init__(fullname, path)
        self._importing = importing
        self._contents = contents

    def get_code(self, fullname: str) -> CodeType:
        """The marked code; raises OSError, SyntaxError or ValueError."""
        text = self._contents.text(self.path)
        return library_code().compile(Path(self.path), self.path, Treatment.MARKED, text)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's body; raises what it raises."""
        with self._importing(module.__name__):
            exec(self.get_code(module.__name__), module.__dict__)


class InstrumentingLoader(SourceFileLoader):
    """Loads one source file, instrumented; reading resources and sources works as ever."""

    def __init__(self, fullname: str, path: str, owner: Instrumentation) -> None:
        super().__init__(fullname, path)
        self._owner = owner

    def get_code(self, fullname: str) -> CodeType:
        """The instrumented code; raises OSError or SyntaxError."""
        return self._owner.code(fullname, self.path)

    def get_data(self, path: str) -> bytes:
        """The content of a file, or of its overlay."""
        overlay = self._owner.overlay_of(path)
        return super().get_data(path) if overlay is None else overlay.encode()

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's body; raises what it raises."""
        code = self._owner.code(module.__name__, self.path)
        self._owner.enter(module, self.path)
        exec(code, module.__dict__)
        for name in [name for name in module.__dict__ if is_temporary(name)]:
            del module.__dict__[name]
        # Its own name can be gone.
        self._owner.imports.loaded(self.name)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _forget(name: str) -> None:
    """Take a module out of `sys.modules` and out of its parent, where `from parent import child` would find it."""
    module = sys.modules.pop(name, None)
    parent_name, _, child = name.rpartition(".")
    parent = sys.modules.get(parent_name)
    if module is not None and parent is not None and parent.__dict__.get(child) is module:
        delattr(parent, child)
