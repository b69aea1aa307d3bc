"""Hints at what weakens a check: where they stand, in which words, and that a check bears them out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor

from dpor_lsp.language_server.analysis import outline

Write = Callable[[str, str], Path]
Launch = Callable[..., Editor]


def found_in(text: str) -> list[tuple[int, str, str, str]]:
    """What weakens checks in a text: line, the text under the squiggle, code and message."""
    lines = text.splitlines()
    found = []
    for item in outline(Path("/p/m.py"), Path("/p"), text).weaknesses:
        span = item.span
        assert span.end_column is not None
        shown = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        found.append((span.line, shown, item.code.value, item.message.partition("\n")[0]))
    return found


ENDING = """\
import asyncio, concurrent.futures, multiprocessing, os, select, signal, socket, subprocess
from multiprocessing.pool import ThreadPool
from os import system as shell
import urllib.request as requests
import dpor

@dpor.model
def run_(): subprocess.run(["true"])
@dpor.model
def popen(): subprocess.Popen(["true"])
@dpor.model
def shell_(): shell("true")
@dpor.model
def pipe(): os.popen("true").read()
@dpor.model
def fork(): os.fork()
@dpor.model
def process(): multiprocessing.Process(target=print).start()
@dpor.model
def queue(): multiprocessing.Queue()
@dpor.model
def value(): multiprocessing.Value("i", 0)
@dpor.model
def pool(): ThreadPool(2)
@dpor.model
def executor(): concurrent.futures.ProcessPoolExecutor(1).submit(abs, 1).result()
@dpor.model
def asks(): input()
@dpor.model
def evaluates(): exec("1 + 1")
@dpor.model
def pauses(): signal.pause()
@dpor.model
def selects(): select.select([], [], [], 1)
@dpor.model
def connects(): socket.create_connection(("127.0.0.1", 1))
@dpor.model
def pairs(): socket.socketpair()
@dpor.model
def looks_up(): socket.getaddrinfo("localhost", 1)
@dpor.model
def loads(): requests.urlopen("http://127.0.0.1:1")
@dpor.model
def starts(): asyncio.run(program())
async def program():
    await asyncio.create_subprocess_exec("true")
"""


def test_what_a_hint_says_will_end_the_check_ends_it(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.initialize(settings={"checkOn": "manual"})
    uri = editor.open(write("m.py", ENDING))
    names = [line[4:].partition("(")[0] for line in ENDING.splitlines() if line.startswith("def ")]
    found = editor.wait(lambda: editor.diagnostics.get(uri))
    assert {item["message"].partition(":")[0] for item in found} == set(names)
    assert {(item["code"], item["severity"]) for item in found} == {("DPOR108", 4)}
    editor.command("checkFile", uri)
    for name in names:
        editor.state(uri, name, "error")
    everything = editor.wait(
        lambda: len(editor.diagnostics[uri]) == 2 * len(names) and editor.diagnostics[uri]
    )
    errors = [item for item in everything if item["severity"] == 1]
    assert {item["code"] for item in errors} == {"DPOR108"}
    assert {item["range"]["start"]["line"] for item in errors} == {
        item["range"]["start"]["line"] for item in found
    }


UNSEEN = """\
import ctypes, random
import dpor

def twice(change):
    dpor.spawn(change)
    dpor.spawn(change)
    dpor.join_all()

@dpor.model
def mask():
    before = ctypes.CDLL(None).umask(0)
    def change():
        mask = ctypes.CDLL(None).umask(0)
        ctypes.CDLL(None).umask(mask + 1)
    twice(change)
    assert ctypes.CDLL(None).umask(before) == 2

@dpor.model
def drawn():
    assert random.randrange(1000) != 7
"""


def test_what_a_hint_says_is_not_seen_is_not_seen(editor: Editor, write: Write) -> None:
    uri = editor.open(write("m.py", UNSEEN))
    for name in ("mask", "drawn"):
        # Each of these can fail in a real program, which is why the hint is there.
        editor.state(uri, name, "verified")
    found = editor.diagnostics[uri]
    told = [
        (item["message"].partition(":")[0], item["code"], item["range"]["start"]["line"]) for item in found
    ]
    assert told == [("mask", "DPOR503", 0), ("mask", "DPOR504", 10), ("drawn", "DPOR503", 19)]
    assert {item["severity"] for item in found} == {4}


@pytest.mark.parametrize(
    ("head", "body", "shown", "message"),
    [
        ("import ctypes", "ctypes.CDLL(None)", "ctypes.CDLL", "m: ctypes.CDLL runs code in C"),
        ("from ctypes import c_int as number", "number(0)", "number", "m: ctypes.c_int is memory"),
        ("import signal", "signal.signal(2, print)", "signal.signal", "m: signal.signal belongs to signals"),
        ("", "open('x', 'w')", "open", "m: open changes files"),
        ("", "open('x', mode='a')", "open", "m: open changes files"),
        ("import os", "os.replace('x', 'y')", "os.replace", "m: os.replace changes files"),
        (
            "import pathlib",
            "pathlib.Path('x').write_text('')",
            "pathlib.Path('x').write_text",
            "m: write_text changes",
        ),
        (
            "import os",
            "os.environ['ä'] = ''; del os.environ['ä']",
            "os.environ['ä']",
            "m: os.environ changes the",
        ),
        ("import os", "os.environ.update(A='')", "os.environ.update", "m: os.environ.update changes the"),
        ("import uuid", "x = 'ä', uuid.uuid4()", "uuid.uuid4", "m: uuid.uuid4 gives the same numbers"),
    ],
)
def test_a_hint_stands_at_the_name_that_it_is_about(head: str, body: str, shown: str, message: str) -> None:
    text = f"import dpor\n{head}\n\n@dpor.model\ndef m():\n    {body}\n"
    (found,) = found_in(text)
    assert found[:3] == (6, shown, "DPOR504")
    assert found[3].startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "def unused():\n    subprocess.run([])\n",
        "def other(subprocess):\n    subprocess.run([])\nother(1)\n",
        "def open(name, mode): ...\n@dpor.model\ndef n():\n    open('x', 'w')\n",
        "@dpor.model\ndef n():\n    open('x').read()\n    os.environ['HOME']\n",
        "@dpor.model\ndef n():\n    subprocess = 5\n    subprocess.run\n",
        "@dpor.model\ndef n():\n    random.seed(5)\n    os.path.join('a', 'b')\n",
        "# dpor: ignore: known\n@dpor.model\ndef n():\n    os.system('true')\n",
    ],
)
def test_what_no_model_comes_to_or_does_no_harm_is_left_alone(text: str) -> None:
    head = "import os, random, subprocess\nimport dpor\n@dpor.model\ndef m():\n    pass\n"
    assert found_in(head + text) == []


def test_what_several_models_come_to_is_said_once_with_their_names() -> None:
    text = (
        "import os\nimport dpor\n\nclass Store:\n    def flush(self):\n        os.sync()\n        os.system('sync')\n\n"
        "def helper():\n    Store().flush()\n\n"
        + "".join(f"@dpor.model\ndef m{number}():\n    helper()\n\n" for number in range(5))
    )
    (found,) = found_in(text)
    assert found[:3] == (7, "os.system", "DPOR108")
    assert found[3].startswith("m0, m1, m2 and 2 more: os.system starts a process")


def test_a_method_of_a_test_class_is_a_model_with_its_class() -> None:
    text = (
        "import os\nimport dpor\n\nclass TestIt:\n    @dpor.model\n    def m(self):\n        self.do()\n\n"
        "    def do(self):\n        os.system('true')\n"
    )
    assert [item[:3] for item in found_in(text)] == [(10, "os.system", "DPOR108")]


def test_hints_move_with_the_text_go_with_their_cause_and_can_be_turned_off(
    editor: Editor, write: Write
) -> None:
    text = "import os\nimport dpor\n\n@dpor.model\ndef m():\n    os.urandom(1)\n"
    uri = editor.open(write("m.py", text))
    editor.state(uri, "m", "verified")
    (hint,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert hint["range"] == {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 17}}
    editor.edit(uri, "import os\n", "import os\n\n\n")
    editor.wait(lambda: [item["range"]["start"]["line"] for item in editor.diagnostics[uri]] == [7])
    editor.notify("workspace/didChangeConfiguration", {"settings": {"dpor": {"hints": False}}})
    editor.wait(lambda: editor.diagnostics[uri] == [])
    editor.notify("workspace/didChangeConfiguration", {"settings": {"dpor": {"hints": True}}})
    editor.wait(lambda: len(editor.diagnostics[uri]) == 1)
    editor.edit(uri, "os.urandom(1)", "pass")
    editor.save(uri)
    editor.wait(lambda: editor.diagnostics[uri] == [])


PACKAGES = "import dpor\nimport sortedcontainers\n{}\n\n@dpor.model\ndef m():\n    {}\n"


def places(found: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(item["code"], item["range"]["start"]["line"], item["message"]) for item in found]


def test_a_package_is_hinted_at_before_anything_was_run_and_after_the_check_only_if_it_was_used(
    launch: Launch, write: Write
) -> None:
    editor = launch()
    editor.initialize(trusted=False)
    uri = editor.open(write("m.py", PACKAGES.format("", "sortedcontainers.SortedList([1])")))
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert places([found]) == [
        (
            "DPOR503",
            1,
            "m: sortedcontainers is not instrumented: each call of it will be taken as one atomic operation; "
            'add instrument=("sortedcontainers",) to look inside',
        )
    ]
    assert editor.actions(uri, 1)[0]["title"] == "Look inside sortedcontainers when m is checked"
    editor.command("trust", True)
    editor.state(uri, "m", "verified")
    # Its code ran, which may do anything.
    told = "m: sortedcontainers is not instrumented: its code ran, and what it did was not seen"
    editor.wait(lambda: told in editor.diagnostics[uri][0]["message"])


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", "pass"),
        ("import own", "own.work()"),
        ("from json import loads", "loads('1')"),
        ("", "sortedcontainers = 5; sortedcontainers"),
    ],
)
def test_packages_that_no_model_names_or_that_are_looked_into_are_not_hinted_at(
    launch: Launch, write: Write, head: str, body: str
) -> None:
    write("own.py", "def work(): pass\n")
    editor = launch()
    editor.initialize(settings={"checkOn": "manual"})
    text = PACKAGES.format(head, body)
    looked = PACKAGES.format(head, "sortedcontainers.SortedList()").replace(
        "@dpor.model", '@dpor.model(instrument=("sortedcontainers",))'
    )
    for name, content in (("m.py", text), ("looked.py", looked)):
        uri = editor.open(write(name, content))
        editor.state(uri, "m", "unchecked")
        assert editor.diagnostics.get(uri, []) == []


def test_a_package_with_parts_in_c_is_said_to_have_them(editor: Editor, write: Write) -> None:
    pytest.importorskip("rpds")
    text = (
        "import dpor\nfrom rpds import rpds\n\n\n@dpor.model\ndef m():\n    shared = rpds.List([1])\n"
        "    dpor.spawn(shared.push_front, 1)\n    dpor.spawn(shared.push_front, 2)\n    dpor.join_all()\n"
    )
    uri = editor.open(write("m.py", text))
    editor.state(uri, "m", "verified")
    (hint,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert (hint["code"], hint["range"]["start"]["line"]) == ("DPOR503", 1)
    assert hint["message"].endswith(
        'add instrument=("rpds",) to look inside, but not into what of it is written in C'
    )
