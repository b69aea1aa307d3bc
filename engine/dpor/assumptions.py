"""What a verdict rests on: from what the kernel noted to what a report says."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

from dpor.codes import Code
from dpor.results import Assumption, AssumptionKind, ModelResult, Reason, SourceSpan, Verdict

Noted = tuple[str, str, str | None, int]
"""What the kernel notes: kind, subject, file (None if it is not known where) and line."""

ADD_INSTRUMENT = "add instrument="
"""What the fix of an assumption about a package begins with, if there is something to look into."""

OF_A_FILE = "the file "
OF_A_FOLDER = "the folder "
"""What the subject of an assumption about a file or folder of the user begins with."""

_ORDER = {kind: number for number, kind in enumerate(AssumptionKind)}


def assumption(kind: AssumptionKind, subject: str, location: SourceSpan | None = None) -> Assumption:
    """An assumption in words. `subject` is what it is about: a package, a function, or what the kind asks for."""
    message, fix = _words(kind, subject)
    return Assumption(kind, subject, message, fix, location)


def read_assumptions(
    noted: Iterable[Noted], place: Callable[[str, int], SourceSpan]
) -> tuple[Assumption, ...]:
    """What the kernel noted, in words; `place` makes a place of a file and a line."""
    return merged(
        assumption(AssumptionKind(kind), subject, None if file is None else place(file, line))
        for kind, subject, file, line in noted
    )


def way_to_unseen_state(fix: str, noted: Iterable[Noted]) -> str:
    """`fix`, and the packages to look into if the error comes of what they keep: what code keeps that nobody has seen
    is not put back between executions.
    """
    packages = _packages(noted, AssumptionKind.FOREIGN_CODE, AssumptionKind.UNSEEN_CODE)
    if not packages:
        return fix
    keeping = f"{packages[0]} keeps" if len(packages) == 1 else "packages keep"
    return f"{fix}\nif it comes of what {keeping}, {_instrument(packages)}"


def way_to_fewer_orders(fix: str, noted: Iterable[Noted]) -> str:
    """`fix`, and the packages to look into because calls of theirs are taken to conflict: each reads and writes the
    objects that it is given as wholes.
    """
    packages = _packages(noted, AssumptionKind.FOREIGN_CODE)
    if not packages:
        return fix
    whose = packages[0] if len(packages) == 1 else "packages"
    return f"{fix}\ncalls of {whose} are taken to change all that they are given: {_instrument(packages)}"


def _packages(noted: Iterable[Noted], *kinds: AssumptionKind) -> list[str]:
    """The packages that assumptions of these kinds name and that can be looked into, in alphabetical order."""
    subjects = sorted({subject for kind, subject, _, _ in noted if AssumptionKind(kind) in kinds})
    return [package for package in subjects if _way_inside(package).startswith(ADD_INSTRUMENT)]


def _instrument(packages: list[str]) -> str:
    names = ", ".join(f'"{package}"' for package in packages)
    return f"{ADD_INSTRUMENT}({names}{',' if len(packages) == 1 else ''})"


def merged(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Each assumption once, at the first of its places, in a fixed order."""
    first: dict[tuple[AssumptionKind, str], Assumption] = {}
    for one in sorted(assumptions, key=_rank):
        first.setdefault((one.kind, one.subject), one)
    # That calls of a package were taken as one step says already that nobody looked into it.
    return tuple(
        one
        for one in first.values()
        if one.kind is not AssumptionKind.UNSEEN_CODE
        or (AssumptionKind.FOREIGN_CODE, one.subject) not in first
    )


def is_known_to_hold(one: Assumption) -> bool:
    """Whether a result that rests on this can be kept: a file is among its dependencies, a variable is not."""
    of_files = one.subject.startswith((OF_A_FILE, OF_A_FOLDER))
    return one.kind is not AssumptionKind.FIXED_WORLD or of_files


def refused_if_strict(result: ModelResult) -> ModelResult:
    """The result as the option `strict` has it: `error` instead of `verified`, if the verdict rests on anything."""
    if not result.strict or result.verdict is not Verdict.VERIFIED or not result.assumptions:
        return result
    listed = "; ".join(told(one) for one in result.assumptions)
    fixes = dict.fromkeys(one.fix for one in result.assumptions if one.fix)
    count = len(result.assumptions)
    reason = Reason(
        Code.ASSUMED,
        f"strict, and the verdict rests on {count} assumption{'s' if count != 1 else ''}: {listed}",
        "\n".join([*fixes, "or check without strict"]),
        result.assumptions[0].location,
    )
    return dataclasses.replace(result, verdict=Verdict.ERROR, reason=reason)


def told(one: Assumption) -> str:
    """The place and the message of an assumption, as lists of them show it."""
    where = f"{one.location.file}:{one.location.line}: " if one.location is not None else ""
    return where + one.message


def _rank(one: Assumption) -> tuple[int, str, bool, str, int]:
    place = one.location
    return (
        _ORDER[one.kind],
        one.subject,
        place is None,
        "" if place is None else place.file,
        0 if place is None else place.line,
    )


def _words(kind: AssumptionKind, subject: str) -> tuple[str, str]:
    match kind:
        case AssumptionKind.FOREIGN_CODE:
            return (
                f"{subject} is not instrumented: each call of it was taken as one atomic operation",
                _way_inside(subject),
            )
        case AssumptionKind.UNSEEN_CODE:
            return (
                f"{subject} is not instrumented: its code ran, and what it did was not seen",
                _way_inside(subject),
            )
        case AssumptionKind.OBJECT_END:
            return (
                f"what threads can share lives until the execution ends: what {subject} does or tells when an object "
                "ends earlier was not explored",
                "let nothing that the model asserts depend on when an object ends",
            )
        case AssumptionKind.CONTAINER_ORDER:
            return (
                "a list or dict is resized or taken as a whole while another thread uses its items: all operations on "
                "it were taken as ordered, as by the lock that CPython has for it, and its items not as relaxed",
                "guard it with a lock, or keep the values in Atomic objects",
            )
        case AssumptionKind.DRAWN_VALUE:
            return (
                f"{subject} drew values that the seed fixes: no others were explored",
                "use dpor.choose or dpor.nondet_int for a value that matters, or random.Random(SEED)",
            )
        case AssumptionKind.FIXED_WORLD:
            return (
                f"{subject} gave what it gives here, in every execution: nothing else was explored",
                "make it a parameter of the model, or use dpor.choose",
            )
        case AssumptionKind.UNRUN_GENERATOR:
            return (
                f"a thread calls {subject}, whose body never runs: the call only makes what somebody would have to "
                "iterate over or await",
                "start a function that does so",
            )
        case AssumptionKind.LATE_IMPORT:
            return (
                f"a thread imports {subject} while others run: that they find it in any other way than by importing it "
                "(in sys.modules, as an attribute of its package, by __import__) was not explored",
                "import it at module level",
            )
        case AssumptionKind.POLLED_CLOCK:
            return (
                f"a loop in {subject}() looks at a clock until a moment has come: time passed there by growing steps, "
                "each after a turn or a few; other times, and more turns, were not explored",
                "let one wait with a time-out, as that of an Event or a Condition, take the place of the loop",
            )
        case AssumptionKind.FIXED_CLOCK:
            return (
                f"time passes by sleeps and time-outs alone: that it passes between two looks at {subject} was not "
                "explored",
                "add clock_jumps=1 to let it pass, or let the model sleep where it may",
            )
        case AssumptionKind.CLOCK_JUMPS:
            return (
                f"between two looks at {subject} no time passes, or a year, and in each thread no more often than "
                "clock_jumps says: nothing else was explored",
                "let the model sleep for other times, or make what is looked at a parameter",
            )
        case AssumptionKind.DRAWN_NUMBER:
            return (
                f"what {subject} tells depends on memory, on the seed of hashes or on which thread came first: what "
                "the model makes of anything else was not explored",
                "compare such numbers for equality only, or number things yourself",
            )
        case AssumptionKind.HASH_ORDER:
            return (
                f"the items of {subject} have an order that hashes decide, which depend on memory or on a seed: other "
                "orders were not explored",
                "sort the items, or keep them in a list or dict",
            )
        case AssumptionKind.LOST_EXCEPTION:
            return (
                f"a task of a pool raised {subject}, and nobody asks for its result: Python keeps the exception to "
                "itself",
                "ask for the result of each future",
            )
        case AssumptionKind.KEPT_STATE:
            return (
                f"an execution changes a {subject}, which is not put back: the next one finds it changed",
                "make the object in the model, or name the package in instrument=(...)",
            )
        case AssumptionKind.CHANGED_DEFINITION:
            return (
                f"{subject} is changed while other threads run: whether they use it before or after the change was not "
                "explored",
                "change it before the threads start",
            )
        case AssumptionKind.UNRUN_AT_EXIT:
            return (
                f"{subject} is registered with atexit and never runs: the process goes on when an execution ends",
                "call it at the end of the model",
            )
        case AssumptionKind.THREAD_UNSAFE:
            return (
                f"two threads use one {subject} and hold no lock in common, though its code lets other threads run in "
                "the middle: what the one does to it meanwhile was not explored",
                "hold one lock in every use, or leave it to one thread (loop.call_soon_threadsafe tells a loop)",
            )
        case AssumptionKind.EXCEPTION_STATE:
            return (
                f"{subject} is read while other threads run: Python changes it as the exception passes through "
                "functions and wherever it is raised again, which was not seen",
                "read it where the exception is caught, before another thread can raise it",
            )


def _way_inside(package: str) -> str:
    if package.startswith("<"):
        return "it was compiled from text; write it in a module"
    if package.endswith(".py"):
        return "import it as a module"
    if package.partition(".")[0] in sys.stdlib_module_names:
        return (
            "what of the standard library is written in C, or runs on stand-ins for threads and waiting, cannot be "
            "looked into; use what it documents"
        )
    if " as " in package:
        return "define the method in the class, with def"
    add = f'{ADD_INSTRUMENT}("{package}",) to look inside'
    modules = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(f"{package}.")}
    native = {name for name, module in modules.items() if _is_native(module)}
    if package in native:
        return "it is written in C, which cannot be looked into"
    return f"{add}, but not into what of it is written in C" if native else add


def _is_native(module: ModuleType) -> bool:
    file: object = getattr(module, "__file__", None)
    return isinstance(file, str) and file.endswith(tuple(EXTENSION_SUFFIXES))
