"""CPython's own tests tell the same when they are checked: a sample of them. `run.py` compares all of them.

Whatever differs is in `known_differences.toml`, with the reason.
"""

from __future__ import annotations

import textwrap

import pytest

from fidelity.comparison import Compared, Finding, Unloaded, compare
from fidelity.known import KnownError, judge, known_differences, version
from fidelity.modules import files_of, folder_of_tests
from fidelity.outcome import Happening
from fidelity.run import NO_TESTS

# Of each module one method in so many.
SAMPLE = {
    "test_asyncio.test_locks": 10,
    "test_asyncio.test_tasks": 60,
    "test_bisect": 3,
    "test_contextlib": 8,
    "test_copy": 8,
    "test_defaultdict": 2,
    "test_dict": 12,
    "test_functools": 30,
    "test_super": 3,
}


def list_of(tmp_path, text: str):
    path = tmp_path / "known.toml"
    path.write_text(textwrap.dedent(text))
    return path


def method(finding: Finding, code: str = "") -> Compared:
    return Compared("test_x", "Case.test", finding, (Happening("pass"),), (Happening("error"),), code)


ENTRY = """
    [[known]]
    category = "real-time"
    reason = "it measures how long a sleep takes"
    methods = ["test_x.Case.test"]
"""


@pytest.mark.parametrize("module", SAMPLE)
def test_checked_tests_of_cpython_tell_what_cpython_tells(module):
    folder = folder_of_tests()
    if folder is None:
        pytest.skip(NO_TESTS)
    if not list(files_of(folder, module)):
        pytest.skip(f"Python {version()} has no {module}")
    found = compare(module, every=SAMPLE[module])
    assert not isinstance(found, Unloaded), found
    judged = judge(found, known_differences())
    assert found
    assert not judged.unknown, "\n".join(one.describe() for one in judged.unknown)
    assert not judged.gone, f"take these from the list, they are the same: {judged.gone}"


def test_a_difference_has_to_be_in_the_list(tmp_path):
    assert judge([method(Finding.DIFFERS)], []).unknown
    assert not judge([method(Finding.DIFFERS)], known_differences(list_of(tmp_path, ENTRY))).unknown


def test_an_entry_that_does_not_differ_is_wrong(tmp_path):
    assert judge([method(Finding.SAME)], known_differences(list_of(tmp_path, ENTRY))).gone


def test_a_refusal_has_to_be_in_the_list_with_its_code(tmp_path):
    entry = ENTRY.replace("real-time", "uncontrolled") + '    code = "DPOR108"\n'
    known = known_differences(list_of(tmp_path, entry))
    assert not judge([method(Finding.REFUSED, "DPOR108")], known).unknown
    assert judge([method(Finding.REFUSED, "DPOR107")], known).unknown
    assert judge([method(Finding.DIFFERS)], known).unknown


def test_an_entry_of_another_version_does_not_count(tmp_path):
    known = known_differences(list_of(tmp_path, ENTRY + '    versions = ["2.7"]\n'))
    assert judge([method(Finding.DIFFERS)], known).unknown


@pytest.mark.parametrize(
    "text",
    [
        ENTRY.replace("real-time", "unclear"),
        ENTRY.replace("it measures how long a sleep takes", ""),
        ENTRY.replace("methods", "names"),
        ENTRY.replace("real-time", "uncontrolled"),
        ENTRY + '    code = "DPOR108"\n',
        ENTRY + ENTRY,
    ],
)
def test_an_entry_without_its_reason_is_refused(tmp_path, text):
    with pytest.raises(KnownError):
        known_differences(list_of(tmp_path, text))


def test_the_list_names_methods_and_reasons():
    assert all(entry.reason and entry.methods for entry in known_differences())
