"""Finding the loop in which a model hangs."""

from __future__ import annotations

from pathlib import Path

from dpor.results import SourceSpan
from dpor_lsp.checking.stacks import last_seen

SOURCE = """\
def helper(x):
    return x + 1

def model():
    x = 0
    for _ in range(3):
        x += 1
    while x:
        for i in range(10):
            x = helper(i)
"""


def evidence(*frames: tuple[str, int]) -> str:
    lines = "\n".join(f'  File "{file}", line {line} in something' for file, line in frames)
    return f"Timeout (0:00:01)!\nThread 0x00007f (most recent call first):\n{lines}\n"


def test_the_while_loop_around_the_innermost_frame_is_named(project: Path) -> None:
    file = project / "m.py"
    file.write_text(SOURCE)
    seen = last_seen(evidence((str(file), 10), ("/usr/lib/python3/runpy.py", 5)), project, file)
    assert seen is not None
    assert seen.line == SourceSpan("m.py", 10)
    assert seen.loop == SourceSpan("m.py", 8, 5)


def test_a_helper_without_a_loop_points_at_its_callers_loop(project: Path) -> None:
    file = project / "m.py"
    file.write_text(SOURCE)
    seen = last_seen(evidence((str(file), 2), (str(file), 10)), project, file)
    assert seen is not None
    assert seen.loop == SourceSpan("m.py", 8, 5)


def test_a_line_outside_loops_is_named_itself(project: Path) -> None:
    file = project / "m.py"
    file.write_text(SOURCE)
    seen = last_seen(evidence((str(file), 5)), project, file)
    assert seen is not None
    assert (seen.line, seen.loop) == (SourceSpan("m.py", 5), None)


def test_installed_packages_and_the_library_are_passed_over(project: Path) -> None:
    file = project / "m.py"
    file.write_text(SOURCE)
    installed = project / ".venv" / "site-packages" / "other.py"
    assert last_seen(evidence((str(installed), 3), ("/usr/lib/queue.py", 7)), project, file) is None


def test_names_beyond_ascii_are_understood(project: Path) -> None:
    file = project / "größe.py"
    file.write_text(SOURCE)
    seen = last_seen(evidence((str(file).replace("ö", "\\xf6").replace("ß", "\\xdf"), 10)), project, file)
    assert seen is not None
    assert seen.line.file == "größe.py"
