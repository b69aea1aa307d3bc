"""What goes wrong in a model, a file, the project or the cache costs one result at most, and is said at its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, RequestError
from lsp_models import BANK, COUNTER

Write = Callable[[str, str], Path]
Launch = Callable[..., Editor]

SOURCE = """\
import ctypes, os, sys
import dpor
{head}

{decorator}
def faulty({parameters}):
    {body}


@dpor.model
def fine():
    pass
"""


@dataclass(frozen=True)
class Fault:
    """A model that goes wrong, and what is shown of it: in which words, and where a line has which text."""

    code: str
    message: str
    place: str
    body: str = "pass"
    head: str = ""
    decorator: str = "@dpor.model"
    parameters: str = ""
    state: str = "error"
    takes_the_file: bool = False
    """Whether the fault is one of the whole file, so that no model of it can be checked."""

    @property
    def source(self) -> str:
        """The file."""
        return SOURCE.format(
            head=self.head,
            decorator=self.decorator,
            parameters=self.parameters,
            body=self.body.replace("\n", "\n    "),
        )


FAULTS = {
    "an import that fails": Fault(
        "DPOR102",
        "No module named 'no_such_module'",
        "import no_such_module",
        head="import no_such_module",
        takes_the_file=True,
    ),
    "a file that ends the process when it is imported": Fault(
        "DPOR102", "SystemExit: 3", "sys.exit(3)", head="sys.exit(3)", takes_the_file=True
    ),
    "a model that never ends": Fault(
        "DPOR304",
        "it was in the loop at line",
        "while True:",
        "turns = 0\nwhile True:\n    turns += 1",
        decorator="@dpor.model(timeout=1)",
        state="incomplete",
    ),
    "a model that hangs in C": Fault(
        "DPOR304",
        "it was last seen at line",
        "sum(iter(int, 1))",
        "sum(iter(int, 1))",
        decorator="@dpor.model(timeout=1)",
        state="incomplete",
    ),
    "a model that exhausts memory": Fault(
        "DPOR112",
        "faulty ran out of memory",
        "bytearray(50_000_000)",
        "kept = []\nwhile True:\n    kept.append(bytearray(50_000_000))",
    ),
    "a model that ends its process": Fault("DPOR108", "ends the process", "os._exit(5)", "os._exit(5)"),
    "a model that ends its process in C": Fault(
        "DPOR111", "exit status 5", "faulty", "import ctypes\nctypes.CDLL(None)._exit(5)"
    ),
    "a model that crashes": Fault(
        "DPOR111",
        "SIGSEGV",
        "ctypes.cast(8, ctypes.POINTER(ctypes.c_int))[0]",
        "import ctypes\nctypes.cast(8, ctypes.POINTER(ctypes.c_int))[0]",
    ),
    "a model that starts a thread in C": Fault(
        "DPOR108",
        "operating system thread(s) in native code, which cannot be controlled",
        "faulty",
        "library, number = ctypes.CDLL(None), ctypes.c_ulong()\n"
        "pause = ctypes.cast(library.pause, ctypes.c_void_p)\n"
        "library.pthread_create(ctypes.byref(number), None, pause, None)",
    ),
    "a model that starts a process": Fault(
        "DPOR108", "starts a process (os.system)", "os.system('true')", "os.system('true')"
    ),
    "a model that behaves differently between runs": Fault(
        "DPOR107",
        "behaved differently when the same choices were made again",
        # The step that differs: one more thread, or the end of them all.
        "dpor.",
        "number = ctypes.CDLL(None).rand()\n"
        "cell = dpor.Atomic(0)\n"
        "for _ in range(2 + number % 3):\n"
        "    dpor.spawn(cell.store, 1)\n"
        "dpor.join_all()",
    ),
    "an option that is none": Fault(
        "DPOR105",
        "algorithm='optimum' is not accepted",
        "faulty",
        decorator="@dpor.model(algorithm='optimum')",
    ),
    "a parameter without a value": Fault("DPOR106", "size", "faulty", parameters="size"),
}


HINT = 4


def of_model(editor: Editor, uri: str, name: str) -> list[dict[str, Any]]:
    """What a check has found; not what reading the file tells beforehand."""
    found = [item for item in editor.diagnostics.get(uri, []) if item["severity"] != HINT]
    return [item for item in found if item["message"].startswith(name)]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_one_result_and_is_said_at_its_place(launch: Launch, write: Write, name: str) -> None:
    fault = FAULTS[name]
    editor = launch()
    editor.initialize(settings={"memoryLimit": 512})
    other = editor.open(write("counter.py", COUNTER))
    uri = editor.open(write("faulty.py", fault.source))
    editor.state(uri, "faulty", fault.state)
    (found,) = editor.wait(lambda: of_model(editor, uri, "faulty"))
    assert found["code"] == fault.code
    assert fault.message in found["message"]
    assert found["severity"] == (2 if fault.state == "incomplete" else 1)
    start = found["range"]["start"]
    line = fault.source.splitlines()[start["line"]]
    assert line[start["character"] :].startswith(fault.place)
    editor.state(uri, "fine", "error" if fault.takes_the_file else "verified")
    editor.state(other, "two_adders", "violated")
    # Whatever it was, fixing it is enough.
    editor.edit(uri, editor.texts[uri], Fault("", "", "").source)
    editor.save(uri)
    editor.state(uri, "faulty", "verified")
    editor.wait(lambda: editor.diagnostics[uri] == [])


def test_a_syntax_error_is_said_where_it_is_and_costs_its_file(editor: Editor, write: Write) -> None:
    other = editor.open(write("counter.py", COUNTER))
    uri = editor.open(write("broken.py", "import dpor\n\n@dpor.model\ndef m(:\n    pass\n"))
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert (found["code"], found["severity"]) == ("DPOR101", 1)
    assert found["range"]["start"] == {"line": 3, "character": 6}
    editor.state(other, "two_adders", "violated")


def test_megabytes_of_output_hinder_nobody(editor: Editor, write: Write) -> None:
    body = "print('x' * 3_000_000)\nsys.stderr.write('Content-Length: 5\\r\\n\\r\\n')\nctypes.CDLL(None).puts(b'C')"
    uri = editor.open(write("noisy.py", Fault("", "", "", body).source))
    editor.state(uri, "faulty", "verified")
    (output,) = editor.wait(lambda: [params for method, params in editor.received if method == "dpor/output"])
    assert output["model"] == "noisy.py::faulty"
    assert "bytes left out" in output["text"]
    assert len(output["text"]) < 300_000
    assert editor.lenses(uri)


def test_a_file_that_vanishes_is_checked_as_it_is_on_the_screen(editor: Editor, write: Write) -> None:
    path = write("counter.py", COUNTER)
    uri = editor.open(path)
    editor.state(uri, "two_adders", "violated")
    path.unlink()
    editor.edit(uri, "== 2", "<= 2")
    editor.command("checkModel", uri, "two_adders")
    editor.state(uri, "two_adders", "verified")


def test_a_file_that_has_vanished_and_is_not_open_is_named(editor: Editor, write: Write) -> None:
    path = write("counter.py", COUNTER)
    assert [item["name"] for item in editor.request("dpor/models", {})["models"]] == ["two_adders"]
    path.unlink()
    with pytest.raises(RequestError, match=r"there is no file .*counter\.py"):
        editor.command("checkFile", path.as_uri())
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 3}]})
    editor.wait(lambda: editor.states.get(path.as_uri()) == {})
    with pytest.raises(RequestError, match=r"counter\.py has no model 'two_adders'"):
        editor.command("checkModel", path.as_uri(), "two_adders")


def test_a_helper_that_vanishes_is_named_at_its_import(editor: Editor, write: Write) -> None:
    helper = write("amounts.py", "STEP = 1\n")
    uri = editor.open(write("counter.py", COUNTER.replace("import dpor", "import amounts\nimport dpor")))
    editor.state(uri, "two_adders", "violated")
    helper.unlink()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": helper.as_uri(), "type": 3}]})
    editor.state(uri, "two_adders", "error")
    (found,) = editor.wait(lambda: [item for item in editor.diagnostics[uri] if item["code"] == "DPOR102"])
    assert found["range"]["start"]["line"] == 0
    assert "No module named 'amounts'" in found["message"]


def test_a_folder_that_vanishes_takes_its_models_with_it(editor: Editor, write: Write, project: Path) -> None:
    write("sub/counter.py", COUNTER)
    assert len(editor.request("dpor/models", {})["models"]) == 1
    shutil.rmtree(project / "sub")
    uri = (project / "sub" / "counter.py").as_uri()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 3}]})
    editor.wait(lambda: editor.states.get(uri) == {})
    assert editor.request("dpor/models", {}) == {"models": []}


@pytest.mark.parametrize("damage", [b"no database", b""])
def test_a_cache_that_is_damaged_while_the_server_runs_costs_no_result(
    editor: Editor, write: Write, project: Path, damage: bytes
) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    (cache,) = (project / ".dpor_cache").glob("*.sqlite3")
    cache.write_bytes(damage)
    other = editor.open(write("bank.py", BANK))
    editor.state(other, "opposite_transfers", "violated")
    editor.edit(uri, "== 2", "<= 2")
    editor.save(uri)
    editor.state(uri, "two_adders", "verified")


def test_a_cache_that_was_damaged_before_is_named_in_the_log(
    launch: Launch, write: Write, project: Path
) -> None:
    path = write("counter.py", COUNTER)
    first = launch()
    first.initialize()
    first.state(first.open(path), "two_adders", "violated")
    assert first.shutdown() == 0
    (cache,) = (project / ".dpor_cache").glob("*.sqlite3")
    cache.write_bytes(b"no database" * 1000)
    second = launch()
    second.initialize()
    second.state(second.open(path), "two_adders", "violated")
    messages = second.wait(
        lambda: [
            params["message"]
            for method, params in second.received
            if method == "window/logMessage" and "DPOR501" in params["message"]
        ]
    )
    assert len(messages) == 1


def test_settings_of_the_project_that_cannot_be_read_are_named_there(
    editor: Editor, write: Write, project: Path
) -> None:
    settings = project / "pyproject.toml"
    settings.write_text("[tool.dpor\n")
    uri = editor.open(write("counter.py", COUNTER))
    assert editor.state(uri, "two_adders", "error")["reason"]["code"] == "DPOR101"
    (found,) = editor.wait(lambda: editor.diagnostics.get(settings.as_uri()))
    assert "pyproject.toml" in found["message"]
    assert found["range"]["start"]["line"] == 0


def test_a_file_that_is_no_text_is_named_and_the_others_are_checked(
    editor: Editor, write: Write, project: Path
) -> None:
    (project / "latin.py").write_bytes("import dpor\n\n@dpor.model\ndef m():\n    'ä'\n".encode("latin-1"))
    write("counter.py", COUNTER)
    assert editor.command("checkWorkspace") == {"files": 2}
    editor.state((project / "counter.py").as_uri(), "two_adders", "violated")
    uri = (project / "latin.py").as_uri()
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert found["code"] == "DPOR101"
    assert found["message"].startswith("latin.py cannot be read as text: ")
    (project / "latin.py").write_bytes(
        "# coding: latin-1\nimport dpor\n\n@dpor.model\ndef m():\n    assert len('ä') == 1\n".encode(
            "latin-1"
        )
    )
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    editor.wait(lambda: editor.diagnostics[uri] == [])
    editor.command("checkFile", uri)
    editor.state(uri, "m", "verified")


def test_an_option_that_a_command_names_wrongly_is_refused(editor: Editor, write: Write) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    for options, message in (
        ({"algoritm": "source"}, "there is no option 'algoritm': did you mean 'algorithm'"),
        ({"algorithm": "optimum"}, "did you mean 'optimal'"),
        ({"timeout": -1}, "timeout"),
    ):
        with pytest.raises(RequestError, match=message):
            editor.command("checkWith", uri, "two_adders", options)
    assert editor.states[uri]["two_adders"]["state"] == "violated"


def test_checking_where_there_is_no_model_says_so(editor: Editor, write: Write) -> None:
    uri = editor.open(write("plain.py", "print('no model')\n"))
    assert editor.command("checkFile", uri) == {"models": 0}
    assert editor.command("checkWorkspace") == {"files": 0}
    messages = [params["message"] for method, params in editor.received if method == "window/showMessage"]
    assert messages == [
        "dpor: plain.py has no models; mark a function with @dpor.model to have it checked",
        "dpor: no file of the workspace has a model; mark a function with @dpor.model to have it checked",
    ]
