"""Leaves out what takes too long for every run; `--whole` leaves out nothing.

A table here is a parametrised test with hundreds of rows that take the same way through the code:
`@pytest.mark.share(8)` runs one in eight of them, and at least one. Which ones follows from their names alone, so that
a run can be repeated, and a row that is added or renamed hardly ever changes another's turn. `@pytest.mark.long` is
for a test, or a row, of more than half a minute.

What is left out is counted as deselected. What is named on the command line is run.
"""

from __future__ import annotations

import gc
import itertools
import linecache
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

# A check in the process of a test leaves cycles. What looks at all objects, or at all that a module can reach, takes
# ever longer if they stay; to collect them after each test would take longer still.
_BETWEEN_COLLECTIONS = 40


@pytest.fixture(scope="session")
def tests_so_far() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture(autouse=True)
def tidied_process(tests_so_far: Iterator[int]) -> Iterator[None]:
    yield
    # Lines of files that no test reads again.
    linecache.clearcache()
    if next(tests_so_far) % _BETWEEN_COLLECTIONS == 0:
        gc.collect()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole", action="store_true", help="run the long tests and all rows of the long tables"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "share(one_in): run one in so many of the test's rows, and all with --whole"
    )
    config.addinivalue_line("markers", "long: run with --whole only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole"):
        return
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    run = {item for table in tables.values() for item in _with_a_turn(table)}
    left = [item for item in items if item not in run and not _is_named(item, config.args)]
    if left:
        config.hook.pytest_deselected(items=left)
        apart = set(left)
        items[:] = [item for item in items if item not in apart]


def _with_a_turn(table: list[pytest.Item]) -> list[pytest.Item]:
    short = [item for item in table if item.get_closest_marker("long") is None]
    chosen = [item for item in short if _number(item) % _share(item) == 0]
    return chosen or sorted(short, key=_number)[:1]


def _share(item: pytest.Item) -> int:
    mark = item.get_closest_marker("share")
    return mark.args[0] if mark is not None else 1


def _number(item: pytest.Item) -> int:
    return zlib.crc32(item.nodeid.encode())


def _is_named(item: pytest.Item, arguments: list[str]) -> bool:
    _, _, name = item.nodeid.partition("::")
    named = (argument.partition("::") for argument in arguments)
    return any(a_name == name and Path(file).name == item.path.name for file, _, a_name in named)
