"""Two expressions on one object in two threads: what plain Python gives in either order, and what a check says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict


class EitherOrder:
    """Checks models of which the text begins with `header`, in the folder of a test.

    In `made`, `first` and `second`, which are expressions, `s` is the object that `made` gives; `first` runs in one
    thread and `second` in the other. One that raises RuntimeError or StopIteration gives None.
    """

    def __init__(self, header: str, folder: Path) -> None:
        self._header = header
        self._folder = folder

    def check(self, made: str, first: str, second: str, unwanted: str = "") -> ModelResult:
        """Check that the two never give what has the text `unwanted`, a list of both."""
        path = self._folder / "model.py"
        path.write_text(f"""{self._header}
import dpor

@dpor.model
def model():
    s = {made}
    found = [None, None]
    def one():
        try:
            found[0] = {first}
        except (RuntimeError, StopIteration):
            pass
    def other():
        try:
            found[1] = {second}
        except (RuntimeError, StopIteration):
            pass
    threads = [dpor.spawn(one), dpor.spawn(other)]
    for thread in threads:
        thread.join()
    assert repr(found) != {unwanted!r}
""")
        return check_model(CheckRequest(str(path), "model", str(self._folder)))

    def values(self, made: str, first: str, second: str) -> list[str]:
        """What both give in plain Python if `first` comes first, and if it comes second; they have to differ."""
        found: list[str] = []
        before = os.getcwd()
        os.chdir(self._folder)
        try:
            for order in ((0, 1), (1, 0)):
                names: dict[str, Any] = {"__name__": "model"}
                exec(self._header, names)
                names["s"] = eval(made, names)
                given: dict[int, Any] = {}
                for number in order:
                    try:
                        given[number] = eval((first, second)[number], names)
                    except (RuntimeError, StopIteration):
                        given[number] = None
                found.append(repr([given[0], given[1]]))
        finally:
            os.chdir(before)
        assert found[0] != found[1], "no order makes a difference"
        return found

    def require_both(self, made: str, first: str, second: str) -> None:
        """Hold a check to what plain Python gives in either order: it has to find both."""
        for unwanted in self.values(made, first, second):
            result = self.check(made, first, second, unwanted)
            assert result.verdict is Verdict.VIOLATED, unwanted
            assert "assertion failed" in str(result), unwanted
