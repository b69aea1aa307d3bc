"""Checks of one process, one after the other: what one has instrumented, the next has not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

# What has a check instrument a module that is left as it is otherwise, and one of its variables.
LEFT = {
    "textwrap": ("lambda: textwrap.TextWrapper(3).wrap('a b')", "_whitespace"),
    "gettext": ("lambda: setattr(gettext.NullTranslations(), '_info', {})", "_current_domain"),
    "ipaddress": ("lambda: setattr(ipaddress.ip_network('10.0.0.0/30'), 'x', 1)", "IPV4LENGTH"),
    "json": ("lambda: json.JSONDecoder().decode('[1]')", "_default_encoder"),
}


def check(folder: Path, body: str) -> ModelResult:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "model.py").write_text(f"""
import gettext, ipaddress, json, textwrap
import dpor

@dpor.model
def model():
{lines}""")
    return check_model(CheckRequest("model.py", "model", str(folder)))


@pytest.mark.parametrize("name", LEFT)
def test_a_variable_is_put_back_that_a_check_has_changed_after_one_that_instrumented_its_module(
    tmp_path: Path, name: str
) -> None:
    use, variable = LEFT[name]
    store = f"""
thread = dpor.spawn(lambda: setattr({name}, '{variable}', 'x'))
found = {name}.{variable}
thread.join()
assert found {{}} 'x'
"""
    before = getattr(sys.modules[name], variable)
    first = [check(tmp_path, store.format(relation)) for relation in ("==", "!=")]
    check(tmp_path, f"work = {use}\nthread = dpor.spawn(work)\nwork()\nthread.join()")
    second = [check(tmp_path, store.format(relation)) for relation in ("==", "!=")]
    assert getattr(sys.modules[name], variable) is before
    assert [result.verdict for result in second] == [Verdict.VIOLATED] * 2
    for earlier, later in zip(first, second, strict=True):
        assert (later.verdict, later.executions) == (earlier.verdict, earlier.executions)
        assert [one.subject for one in later.assumptions] == [one.subject for one in earlier.assumptions]
