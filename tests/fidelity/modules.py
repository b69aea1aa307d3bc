"""Which modules of CPython's tests are run. Their text comes from the interpreter that runs this."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = "test"

_WITH_THREADS = (
    "test_queue",
    "test_thread",
    "test_threading",
    "test_threading_local",
    "test_concurrent_futures",
    "test_concurrent_futures.test_as_completed",
    "test_concurrent_futures.test_future",
    "test_concurrent_futures.test_init",
    "test_concurrent_futures.test_shutdown",
    "test_concurrent_futures.test_thread_pool",
    "test_concurrent_futures.test_wait",
    "test_sched",
)

_WITH_TASKS = (
    "test_asyncio.test_eager_task_factory",
    "test_asyncio.test_futures",
    "test_asyncio.test_locks",
    "test_asyncio.test_pep492",
    "test_asyncio.test_queues",
    "test_asyncio.test_runners",
    "test_asyncio.test_taskgroups",
    "test_asyncio.test_tasks",
    "test_asyncio.test_timeouts",
    "test_asyncio.test_waitfor",
)

_OF_ONE_THREAD = (
    "test_bisect",
    "test_class",
    "test_collections",
    "test_context",
    "test_contextlib",
    "test_contextlib_async",
    "test_copy",
    "test_coroutines",
    "test_dataclasses",
    "test_datetime",
    "test_defaultdict",
    "test_deque",
    "test_descr",
    "test_dict",
    "test_enum",
    "test_functools",
    "test_generators",
    "test_heapq",
    "test_iter",
    "test_itertools",
    "test_json.test_decode",
    "test_json.test_default",
    "test_json.test_dump",
    "test_json.test_encode_basestring_ascii",
    "test_json.test_enum",
    "test_json.test_fail",
    "test_json.test_float",
    "test_json.test_indent",
    "test_json.test_pass1",
    "test_json.test_pass2",
    "test_json.test_pass3",
    "test_json.test_recursion",
    "test_json.test_scanstring",
    "test_json.test_separators",
    "test_json.test_speedups",
    "test_json.test_tool",
    "test_json.test_unicode",
    "test_list",
    "test_logging",
    "test_operator",
    "test_ordered_dict",
    "test_property",
    "test_set",
    "test_super",
    "test_tuple",
    "test_userdict",
    "test_userlist",
    "test_weakref",
    "test_weakset",
    "test_with",
)

MODULES = (*_OF_ONE_THREAD, *_WITH_THREADS, *_WITH_TASKS)
"""By their names below `test`. Versions of Python have some of them under other names, and not all have all."""


def folder_of_tests() -> Path | None:
    """The folder of the interpreter's test package; None if it was installed without one."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).resolve().parent
    # Some distributions have the package without the tests.
    return folder if any(folder.glob("test_*")) else None


def files_of(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """The names and files of a test module, or of those in a package of tests; nothing if it is not there."""
    path = folder.joinpath(*name.split("."))
    module = path.with_name(f"{path.name}.py")
    if module.is_file():
        yield name, module
    elif (path / "__init__.py").is_file() and name not in _PARTED:
        # Most of a package's tests are in modules of its own, and some in itself.
        yield name, path / "__init__.py"
        for found in sorted(path.glob("test_*.py")):
            yield f"{name}.{found.stem}", found


_PARTED = frozenset(name.rpartition(".")[0] for name in MODULES if "." in name)
"""Packages of which modules are named one by one. They have no tests but those of their modules, which they load."""


def module_name(name: str) -> str:
    """The name that the module is imported under."""
    return f"{_PACKAGE}.{name}"
