"""A model loaded into this process under control: the kernel's host, the patches, the instrumented modules.

One `HostedModel` is used for everything that is done to one model in one process: exploring it, minimising a
counterexample, recording it, following a schedule.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import hashlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Set
from itertools import takewhile
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Self, cast

from dpor._kernel import Host
from dpor.codes import Code
from dpor.counterexample.frames import Locator
from dpor.discovery import find_models
from dpor.errors import DporError
from dpor.exception_texts import titled
from dpor.instrument.combined_flags import CombinedFlags
from dpor.instrument.entries import MARKER
from dpor.instrument.hooks import Hook, hook_entries, put_hooks
from dpor.instrument.import_hook import Instrumentation
from dpor.instrument.in_place import Library
from dpor.instrument.library_state import keep_unseen, objects_of
from dpor.instrument.standard_library import is_of_standard_library
from dpor.instrument.texts import Texts
from dpor.model import options_of
from dpor.options import OPTIONS, Algorithm, ModelOptions, override, shown_value
from dpor.reading import read_text
from dpor.results import CheckRequest, ModelInfo, ReplayRequest, SourceSpan
from dpor.runtime.output import Output
from dpor.runtime.patching import Patches
from dpor.runtime.unrun import unrun
from dpor.symbolic.places import Places
from dpor.symbolic.session import Session

_DEEPEST = 50
_MOST_BITS = 2048
"""Larger numbers and deeper lists than these are shown as text; neither can always be written as JSON."""
OPTIONS_OF_A_CHECK = frozenset({"elide", "turns", "sections"})


def describe_model(file: Path, name: str, root: Path, source: str | None) -> ModelInfo:
    """The model `name` of a file, found without running it.

    Raises DporError: NOT_FOUND (with a suggestion) if the file or the model does not exist, SYNTAX_ERROR.
    """
    if source is None and not file.is_file():
        raise DporError(Code.NOT_FOUND, f"there is no file {file}")
    models = find_models(file, root, source)
    for info in models:
        if info.name == name:
            return info
    near = difflib.get_close_matches(name, [info.name for info in models], 1)
    known = ", ".join(info.name for info in models) or "none"
    fix = f"did you mean {near[0]!r}?" if near else f"its models are: {known}"
    raise DporError(Code.NOT_FOUND, f"{file.name} has no model {name!r}", fix)


class HostedModel:
    """A model that can be run under control. A context manager: leaving it puts the process back as it was.

    Arguments: the model's file and name, the folder that counts as first-party, parameter and option overrides, the
    text to use in place of the file's content, and those of other files by path. Entering raises DporError:
    NOT_FOUND, SYNTAX_ERROR, IMPORT_ERROR, BAD_PARAMETER, BAD_OPTION, UNRUN.
    """

    def __init__(
        self,
        file: str,
        model: str,
        root: str,
        parameters: Mapping[str, Any],
        options: Mapping[str, Any],
        source: str | None = None,
        overlays: Mapping[str, str] | None = None,
    ) -> None:
        self.root = Path(root).resolve()
        self.file = (self.root / file).resolve()
        self.overlay = {Path(path).resolve(): text for path, text in (overlays or {}).items()}
        if source is not None:
            self.overlay[self.file] = source
        self.info = describe_model(self.file, model, self.root, source)
        self._overrides = {name: value for name, value in options.items() if name not in OPTIONS_OF_A_CHECK}
        self._parameters = dict(parameters)
        self.elide = bool(options.get("elide", True))
        self.options = ModelOptions()
        self.parameters: dict[str, Any] = {}
        self.host = Host()
        self.patches = Patches(self.host)
        self.packages = self._named_packages()
        self.instrumentation = Instrumentation(
            self.root,
            tuple(name for name in self.packages if not is_of_standard_library(name)),
            self.host,
            self.overlay,
            covered=self.file,
            asleep=self.patches.asleep,
            importing_unseen=self.patches.importing_unseen,
            tell=self.host.tell_instrumented,
            contents=self.patches.outside.contents,
            refuse=self._refuse_module,
            imports=self.patches.module_locks,
        )
        self.patches.module_locks.is_looked_into = self.instrumentation.looks_into
        self.texts = Texts(self.host)
        self.library = Library(self.host, self.patches.stand_ins(), self.packages)
        self._flags = CombinedFlags()
        self.fresh_modules = False
        # Until an exploration finds that turns of event loops cannot be events.
        self.turns = bool(options.get("turns", True))
        self.patches.turns = self.turns
        # The same of critical sections.
        self.sections = bool(options.get("sections", True))
        self.symbolic = self._symbolic_session()
        self._module_name = module_name_of(self.file)
        self._function: Callable[..., Any] | None = None
        self._path_entry = str(self.file.parent)
        self.output = Output()

    @classmethod
    def of(cls, request: CheckRequest | ReplayRequest) -> Self:
        """The model that a request names, with what it overrides."""
        return cls(
            request.file,
            request.model,
            request.root,
            request.parameters,
            request.options,
            request.source,
            request.overlays,
        )

    def __enter__(self) -> Self:
        self._check_packages()
        sys.path.insert(0, self._path_entry)
        self.output.install()
        self.host.install()
        put_hooks(self._hooks())
        self.patches.install()
        self.instrumentation.install()
        self.library.install()
        self.texts.install()
        self.patches.when_beginning(self.library.begin)
        self.patches.when_beginning(self.instrumentation.begin)
        self.patches.when_beginning(
            lambda: self._flags.begin(self.instrumentation.modules, self.fresh_modules)
        )
        self.patches.when_imported(self.library.imported)
        try:
            module = self._import()
            self._function = self._resolve(module)
            self._configure(self._function)
            self.symbolic = self._symbolic_session()
            self._keep_objects()
        except BaseException:
            self.__exit__()
            raise
        self.host.sleep(True)
        gc.freeze()
        gc.disable()
        return self

    def __exit__(self, *exception: object) -> None:
        self.output.restore()
        gc.enable()
        gc.unfreeze()
        self.host.sleep(True)
        self.instrumentation.uninstall()
        self.library.uninstall()
        self._flags.restore()
        self.patches.uninstall()
        self.host.uninstall()
        self.host.close()
        if self._path_entry in sys.path:
            sys.path.remove(self._path_entry)

    def main(self) -> None:
        """What the kernel runs as the model's main thread."""
        self.output.begin_execution()
        self.patches.run(self._call)

    def load_afresh(self) -> None:
        """Load the model's modules anew for each execution, from now on."""
        self.fresh_modules = True
        modules = frozenset(self.instrumentation.modules)
        # To load a module binds it in its package: to find that out one by one would take as many loads of them all.
        bound: dict[str, set[str]] = {}
        for package, _, name in (module.rpartition(".") for module in modules):
            if package in modules:
                bound.setdefault(package, set()).add(name)
        if bound:
            self.rebind(bound)

    def rebind(self, variables: Mapping[str, Set[str]]) -> None:
        """Take variables, by module, for such as are rebound, from now on."""
        known = dict(self.instrumentation.rebound)
        for module, names in variables.items():
            known[module] = known.get(module, frozenset()) | names
            for name in names:
                self.host.rebind(module, name)
            self.library.rebind(module, known[module])
        self.instrumentation.rebound = known
        self._reload()

    def see_operands(self) -> None:
        """Have operators with a literal operand be told of, too, from now on: unknown C reads objects there."""
        self.host.see_operands()
        self.library.see_operands()
        self.instrumentation.sees_operands = True
        self._reload()

    def _reload(self) -> None:
        slept = self.host.sleep(False)
        with self.patches.importing():
            self._function = self._resolve(self.instrumentation.reload_all()[self._module_name])
        self._keep_objects()
        self.host.sleep(slept)

    def is_first_party(self, filename: str) -> bool:
        """True for the user's own files, False for the standard library and packages (instrumented ones too)."""
        path = Path(filename)
        return path == self.file or (path in self.instrumentation.files and not self._is_package_file(path))

    def fingerprint(self) -> str:
        """A hash of the model's code: of all first-party files that it was loaded from."""
        digest = hashlib.sha256()
        for path in sorted({self.file, *self.instrumentation.files}):
            source = self.instrumentation.source(str(path))
            text = source.encode(errors="surrogatepass") if isinstance(source, str) else source
            digest.update(os.fsencode(path.name) + b"\0" + text + b"\0")
        return digest.hexdigest()[:16]

    def relative(self, path: Path) -> str:
        """A path as reports show it: relative to the root, with forward slashes."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()

    def span_of_traceback(self, error: BaseException) -> SourceSpan | None:
        """The innermost first-party place of an exception's traceback."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if Path(frame.filename) == self.file or self.is_first_party(frame.filename):
                return SourceSpan(
                    self.relative(Path(frame.filename)), frame.lineno or 1, (frame.colno or 0) + 1
                )
        return None

    def _hooks(self) -> dict[str, object]:
        hooks = {hook.value: getattr(self.host, hook.value) for hook in Hook}
        return {MARKER: self.host.entered, **hook_entries(hooks, self.host.is_instrumented)}

    def _keep_objects(self) -> None:
        """Tell the host of what the model's modules hold: also of what code has made that is not instrumented."""
        keep_unseen(self.host)
        seen: dict[int, object] = {}
        for name in self.instrumentation.modules:
            module = sys.modules.get(name)
            if module is not None:
                self.host.keep(module.__dict__, True)
            for value in () if module is None else objects_of(module.__dict__, seen):
                if not isinstance(value, type | FunctionType):
                    self.host.keep_of_model(value)

    def _call(self) -> None:
        function = self._function
        if self.fresh_modules:
            with self.patches.importing():
                function = self._resolve(self.instrumentation.reload_all()[self._module_name])
        assert function is not None
        result = function(**self.parameters)
        if inspect.iscoroutine(result):
            import asyncio

            result = asyncio.run(result)
        made = unrun(result)
        if made is not None:
            self.host.refuse(
                DporError(
                    Code.UNRUN,
                    f"{self.info.name} returns {made} that nobody runs: its body is not checked",
                    "run it inside the model: iterate over it, or await it",
                    self._span_of_model(),
                )
            )

    def _symbolic_session(self) -> Session:
        # PCT is a way in which the random explorer draws.
        algorithm = self.options.algorithm
        explorer = Algorithm.RANDOM if algorithm is Algorithm.PCT else algorithm
        return Session(
            self.host,
            algorithm.value,
            Host.decides_branches(explorer.value),
            self.options.solver_timeout,
            Places(self.is_first_party, self.relative, self._source_of),
        )

    def _source_of(self, filename: str) -> str | None:
        path = Path(filename)
        with contextlib.suppress(OSError, SyntaxError, UnicodeError):
            return self.overlay[path] if path in self.overlay else read_text(path)
        return None

    def _named_packages(self) -> tuple[str, ...]:
        named = self._overrides.get("instrument") or self.info.options.get("instrument") or ()
        try:
            return OPTIONS["instrument"].check(named)
        except DporError as error:
            raise DporError(error.code, error.message, error.fix, self._span_of_model()) from None

    def _check_packages(self) -> None:
        for package in self.packages:
            if not _is_installed(package.split(".")[0]):
                raise DporError(
                    Code.BAD_OPTION,
                    f"instrument names {package!r}, which is not installed",
                    f"install it with: python -m pip install {package}",
                    self._span_of_model(),
                )

    def _import(self) -> ModuleType:
        self._note_packages()
        try:
            with self.patches.importing():
                module = self.instrumentation.load_file(self.file, self._module_name)
        except DporError as error:
            raise self.instrumentation.refusal or self._placed(error) from None
        except MemoryError as error:
            raise DporError(
                Code.OUT_OF_MEMORY,
                f"importing {self.file.name} ran out of memory",
                "load less in the module, or raise --memory-limit",
                self.span_of_traceback(error) or self._span_of_model(),
            ) from error
        except SyntaxError as error:
            span = SourceSpan(
                self.relative(Path(error.filename or str(self.file))), error.lineno or 1, error.offset or 1
            )
            raise DporError(
                Code.SYNTAX_ERROR, error.msg or "invalid syntax", "correct the syntax", span
            ) from error
        except BaseException as error:
            if self.instrumentation.refusal is not None:
                raise self.instrumentation.refusal from None
            fix = "have the module run to its end when it is imported"
            if isinstance(error, ModuleNotFoundError) and error.name:
                fix = f"is {error.name} installed for {sys.executable}?"
            raise DporError(
                Code.IMPORT_ERROR,
                f"importing {self.file.name} raised {titled(error)}{self._inner_calls(error)}",
                fix,
                self.span_of_traceback(error) or SourceSpan(self.relative(self.file), 1),
            ) from error
        if self.instrumentation.refusal is not None:
            raise self.instrumentation.refusal
        return module

    def _placed(self, error: DporError) -> DporError:
        span = error.span or self.span_of_traceback(error) or self._span_of_model()
        return DporError(error.code, error.message, error.fix, span)

    def _refuse_module(self, error: DporError) -> None:
        # While the model itself is imported, whoever imports it asks for the refusal.
        if self._function is not None:
            self.host.refuse(error)

    def _note_packages(self) -> None:
        """Note what the name of the model's module rests on: which folders around it are packages."""
        for folder in self.file.parents[: self._module_name.count(".") + 1]:
            self.instrumentation.contents.note_search("__init__", [str(folder)])

    def _inner_calls(self, error: BaseException) -> str:
        """Where an exception comes from that was raised in code which first-party code calls, in words."""
        sites = Locator(self.is_first_party, self.root).sites_of_traceback(error.__traceback__)
        inner = [site.span for site in takewhile(lambda site: not site.first_party, sites)]
        return (
            f" (raised at {', called at '.join(f'{span.file}:{span.line}' for span in inner)})"
            if inner
            else ""
        )

    def _resolve(self, module: ModuleType) -> Callable[..., Any]:
        value: Any = module
        owner: Any = None
        for part in self.info.name.split("."):
            owner, value = value, getattr(value, part, None)
        if value is None or options_of(value) is None:
            raise DporError(
                Code.NOT_FOUND,
                f"{self.info.name} is not a model once {self.file.name} has been imported",
                "is it rebound, or defined under a condition?",
                self._span_of_model(),
            )
        if isinstance(owner, type):
            name = self.info.name.rsplit(".", 1)[-1]
            if not isinstance(inspect.getattr_static(owner, name), staticmethod | classmethod):
                holder: Any = owner

                def call(**parameters: Any) -> Any:
                    return getattr(holder(), name)(**parameters)

                return call
        return value

    def _configure(self, function: Callable[..., Any]) -> None:
        marked: Any = function if options_of(function) is not None else self._marked()
        declared = options_of(marked) or ModelOptions()
        if isinstance(declared, DporError):
            raise DporError(declared.code, declared.message, declared.fix, self._span_of_model())
        self.options = override(declared, self._overrides)
        self.patches.task_order = self.options.task_order
        self.patches.cancellations = self.options.cancellations
        for called in (marked, function):
            self._require_run(called)
        signature = inspect.signature(marked)
        known = {
            name: parameter
            for name, parameter in signature.parameters.items()
            if not (name == "self" and "." in self.info.name)
        }
        for name in self._parameters:
            if name not in known:
                near = difflib.get_close_matches(name, list(known), 1)
                listed = ", ".join(known) or "none"
                fix = f"did you mean {near[0]!r}?" if near else f"its parameters are: {listed}"
                raise DporError(
                    Code.BAD_PARAMETER,
                    f"{self.info.name} has no parameter {name!r}",
                    fix,
                    self._span_of_model(),
                )
        values: dict[str, Any] = {}
        for name, parameter in known.items():
            if name in self._parameters:
                values[name] = self._parameters[name]
            elif parameter.default is not inspect.Parameter.empty:
                values[name] = parameter.default
            elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise DporError(
                    Code.BAD_PARAMETER,
                    f"parameter {name!r} of {self.info.name} has no default",
                    f"give it one, or pass --set {name}=VALUE",
                    self._span_of_model(),
                )
        self.parameters = values

    def _require_run(self, function: Callable[..., Any]) -> None:
        generates = inspect.isgeneratorfunction(function)
        if not generates and not inspect.isasyncgenfunction(function):
            return
        kind = "a generator function" if generates else "an async generator function"
        raise DporError(
            Code.UNRUN,
            f"{self.info.name} is {kind}: calling it runs none of its body",
            "take the yield out of the model, or call what has it from a function that iterates over it",
            self._span_of_model(),
        )

    def _marked(self) -> Any:
        value: Any = sys.modules[self._module_name]
        for part in self.info.name.split("."):
            value = getattr(value, part)
        return value

    def _span_of_model(self) -> SourceSpan:
        return SourceSpan(self.relative(self.file), self.info.line, self.info.column)

    def _is_package_file(self, path: Path) -> bool:
        tops = {package.split(".")[0] for package in self.packages}
        return any(part in tops or part.removesuffix(".py") in tops for part in path.parts[-4:])


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        # A module that is loaded already need not know where it came from.
        return False


def module_name_of(file: Path) -> str:
    """The name that a model's file is imported under: dotted if it lies in a package."""
    parts = [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def json_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a report can hold them: literals as they are, anything else as its repr."""
    return {name: value if _is_json(value) else _repr(value) for name, value in parameters.items()}


def _repr(value: object) -> str:
    # Code of the value's class may raise anything and return what is no text.
    try:
        return str.__str__(repr(value))
    except BaseException:
        return shown_value(value)


def _is_json(value: Any, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(value, list | tuple):
        return all(_is_json(item, depth + 1) for item in cast("list[Any]", value))
    if isinstance(value, int):
        return int.bit_length(value) <= _MOST_BITS
    return value is None or isinstance(value, float | str)
