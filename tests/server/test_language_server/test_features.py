"""What an editor shows of a checked file: exact places and words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_editor import Editor, RequestError
from lsp_models import BANK, COUNTER

from dpor.options import Algorithm

Write = Callable[[str, str], Path]

PROVING = {item.value for item in Algorithm} - {"exhaustive", "random", "pct", "optimal"}
CHECK_ACTIONS = [
    "Check {} again",
    *(f"Check {{}} with algorithm {item.value}" for item in Algorithm if item.value in PROVING),
    "Check {} with at most 2 preemptions",
    "Check {} on schedules drawn at random",
    "Ignore {} in the editor, with a reason",
]
COUNTEREXAMPLE_ACTIONS = [
    "Replay the counterexample of {}",
    "Show the schedule of {}",
    "Pin the counterexample of {} as a pytest test",
]


def place(item: dict) -> tuple[int, int, int, int]:
    start, end = item["range"]["start"], item["range"]["end"]
    return start["line"], start["character"], end["line"], end["character"]


def test_a_deadlock_is_shown_where_its_threads_wait(editor: Editor, write: Write) -> None:
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    first, joining = editor.wait(lambda: editor.diagnostics.get(uri))
    assert place(first) == (13, 8, 13, 24)
    assert first["message"].splitlines() == [
        "opposite_transfers: deadlock: 3 threads wait for ever (lock-order inversion)",
        "main.0 holds Account#1.lock and waits for Account#2.lock, held by main.1 (line 14)",
        "main.1 holds Account#2.lock and waits for Account#1.lock, held by main.0 (line 14)",
    ]
    assert (first["severity"], first["code"], first["source"]) == (1, "DPOR203", "dpor")
    assert [(item["message"], place(item["location"])) for item in first["relatedInformation"]] == [
        ("9. main.0 acquires Account#1.lock", (12, 4, 12, 20)),
        ("13. main.1 acquires Account#2.lock", (12, 4, 12, 20)),
    ]
    assert first["data"]["schedule"].startswith("dpor1:")
    assert (first["data"]["id"], first["data"]["violation"]) == ("bank.py::opposite_transfers", 0)
    assert place(joining) == (25, 4, 25, 19)
    assert joining["severity"] == 3
    assert joining["message"] == ("opposite_transfers: deadlock: main waits for the end of main.0 (line 26)")


def test_a_code_links_to_its_explanation(editor: Editor, write: Write) -> None:
    uri = editor.open(write("bank.py", BANK))
    first, *_ = editor.wait(lambda: editor.diagnostics.get(uri))
    address, _, line = first["codeDescription"]["href"].partition("#L")
    text = Path(address.removeprefix("file://")).read_text()
    assert text.splitlines()[int(line) - 1] == "### DPOR203"


def test_an_assertion_is_shown_at_the_expression_that_fails(editor: Editor, write: Write) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    line = 'assert counter.value == 2, "änderung 🦀 lost"'
    assert COUNTER.splitlines()[17].strip() == line
    assert place(found) == (17, 11, 17, 11 + len("counter.value == 2"))
    assert found["message"].splitlines() == [
        "two_adders: assertion failed: änderung 🦀 lost (lost update)",
        "main.0 reads Counter#1.value = 0 (line 9)",
        "main.1 reads Counter#1.value = 0, writes Counter#1.value ← 1 (line 9)",
        "main.0 writes Counter#1.value ← 1 (line 9)",
    ]
    assert found["code"] == "DPOR201"


def test_lenses_say_the_state_and_offer_what_can_be_done(editor: Editor, write: Write) -> None:
    uri = editor.open(write("counter.py", COUNTER + "\n\n@dpor.model\ndef fine():\n    pass\n"))
    editor.state(uri, "fine", "verified")
    editor.state(uri, "two_adders", "violated")
    lenses = editor.lenses(uri)
    assert [line for line, _ in lenses] == [12, 12, 12, 21, 21]
    titles = [title for _, title in lenses]
    assert titles[0].startswith("✗ violated: assertion · ")
    assert titles[1:3] == ["check", "replay"]
    assert titles[3].startswith("✓ verified · 1 execution, ")
    assert titles[4] == "check"


@pytest.mark.parametrize("line", [13, 25, 18, 19])
def test_actions_are_found_by_line_without_the_clients_diagnostics(
    editor: Editor, write: Write, line: int
) -> None:
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    editor.wait(lambda: editor.diagnostics.get(uri))
    titles = [item["title"] for item in editor.actions(uri, line, 2)]
    name = "opposite_transfers"
    assert titles == [item.format(name) for item in [*COUNTEREXAMPLE_ACTIONS, *CHECK_ACTIONS]]
    assert editor.actions(uri, 3) == []


@pytest.mark.parametrize(
    ("memory_model", "offered"),
    [("tso", {"source", "parsimonious", "graph", "concolic"}), ("rc11", {"graph", "concolic"})],
)
def test_only_algorithms_for_the_memory_model_of_the_model_are_offered(
    editor: Editor, write: Write, memory_model: str, offered: set[str]
) -> None:
    text = COUNTER.replace("@dpor.model\n", f"@dpor.model(memory_model={memory_model!r})\n")
    uri = editor.open(write("counter.py", text))
    line = text.splitlines().index(f"@dpor.model(memory_model={memory_model!r})") + 1
    titles = editor.wait(lambda: [item["title"] for item in editor.actions(uri, line, 4)])
    assert {title.rpartition(" ")[2] for title in titles if " with algorithm " in title} == offered
    assert any("preemptions" in title for title in titles) == (memory_model != "rc11")


def test_actions_of_a_kind_that_is_not_wanted_are_left_out(editor: Editor, write: Write) -> None:
    uri = editor.open(write("bank.py", BANK))
    editor.wait(lambda: editor.diagnostics.get(uri))
    here = {"line": 13, "character": 9}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": here, "end": here},
        "context": {"diagnostics": [], "only": ["source.organizeImports"]},
    }
    assert editor.request("textDocument/codeAction", params) == []


def test_a_client_with_commands_of_its_own_is_given_those(
    launch: Callable[..., Editor], write: Write
) -> None:
    editor = launch()
    editor.initialize(clientCommands=["dpor.replayTrace", "dpor.showTrace", "dpor.showSchedule"])
    uri = editor.open(write("bank.py", BANK))
    editor.wait(lambda: editor.diagnostics.get(uri))
    commands = [item["command"]["command"] for item in editor.actions(uri, 13)][:4]
    assert commands == ["dpor.replayTrace", "dpor.showTrace", "dpor.showSchedule", "dpor.server.pinTest"]


def test_hover_says_what_the_verdict_covers_and_what_not(editor: Editor, write: Write) -> None:
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    params = {"textDocument": {"uri": uri}, "position": {"line": 19, "character": 10}}
    hover = editor.request("textDocument/hover", params)
    text = hover["contents"]["value"]
    assert text.startswith("**opposite\\_transfers**: violated: deadlock\n\n")
    assert "*Two clerks transfer money in opposite directions.*" in text
    assert "algorithm `optimal` · memory model `sc`" in text
    assert "main.0 holds Account#1.lock and waits for Account#2.lock, held by main.1 (line 14)" in text
    assert "Not covered:\n- other values of the parameters\n" in text
    assert "Parameters: `clerks=1`" in text
    assert place(hover) == (19, 4, 19, 22)
    params["position"]["line"] = 24
    assert editor.request("textDocument/hover", params) is None


def test_hover_on_a_verified_model_claims_every_schedule(editor: Editor, write: Write) -> None:
    uri = editor.open(write("fine.py", "import dpor\n\n@dpor.model\ndef small():\n    pass\n"))
    editor.state(uri, "small", "verified")
    params = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 6}}
    text = editor.request("textDocument/hover", params)["contents"]["value"]
    assert "Covers every schedule of this model" in text
    assert "weaker memory than sequential consistency" in text


def test_models_are_symbols(editor: Editor, write: Write) -> None:
    write("other/more.py", COUNTER)
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    (symbol,) = editor.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert (symbol["name"], symbol["kind"]) == ("opposite_transfers", 12)
    assert symbol["detail"] == "model, violated: deadlock"
    assert place(symbol) == (18, 0, 26, 39)
    found = editor.request("workspace/symbol", {"query": "adders"})
    assert [(item["name"], item["containerName"]) for item in found] == [
        ("two_adders", "other/more.py, unchecked")
    ]
    everything = editor.request("workspace/symbol", {"query": ""})
    assert [item["name"] for item in everything] == ["opposite_transfers", "two_adders"]


def test_all_models_of_the_workspace_are_listed_without_running(editor: Editor, write: Write) -> None:
    write("a.py", BANK)
    write("sub/b.py", COUNTER)
    write("c.py", "print('no model here')\n")
    models = editor.request("dpor/models", {})["models"]
    assert [(item["id"], item["state"]) for item in models] == [
        ("a.py::opposite_transfers", "unchecked"),
        ("sub/b.py::two_adders", "unchecked"),
    ]
    assert editor.command("checkWorkspace") == {"files": 2}
    for item in models:
        editor.state(item["uri"], item["name"], "violated")


def test_options_are_completed_inside_the_decorator(editor: Editor, write: Write) -> None:
    text = 'import dpor\n\n@dpor.model(algorithm="source", mem)\ndef m():\n    pass\n'
    uri = editor.open(write("m.py", text))

    def complete(line: int, character: int) -> list[str]:
        position = {"line": line, "character": character}
        found = editor.request(
            "textDocument/completion", {"textDocument": {"uri": uri}, "position": position}
        )
        return [item["label"] for item in found]

    names = complete(2, text.splitlines()[2].index("mem") + 3)
    assert "memory_model=" in names
    assert "algorithm=" not in names
    assert complete(2, text.splitlines()[2].index("source") + 1)[:2] == ["exhaustive", "random"]
    assert complete(3, 4) == []
    position = {"line": 2, "character": text.splitlines()[2].index("source") + 1}
    help_ = editor.request("textDocument/signatureHelp", {"textDocument": {"uri": uri}, "position": position})
    signature = help_["signatures"][0]
    active = signature["parameters"][help_["activeParameter"]]
    assert active["label"].startswith('algorithm: "exhaustive" | "random"')
    assert active["label"] in signature["label"]


def test_a_race_that_is_only_warned_of_is_a_warning(editor: Editor, write: Write) -> None:
    text = COUNTER.replace("@dpor.model", '@dpor.model(races="warn")').replace("== 2", "in (1, 2)")
    uri = editor.open(write("counter.py", text))
    editor.state(uri, "two_adders", "verified")
    found = editor.wait(lambda: editor.diagnostics.get(uri))
    assert {item["severity"] for item in found} == {2}
    assert {item["code"] for item in found} == {"DPOR205"}
    assert "data race on Counter#1.value" in found[0]["message"]


def test_a_known_bug_is_no_error(editor: Editor, write: Write) -> None:
    text = COUNTER.replace("@dpor.model", '@dpor.model(expect="violated")')
    uri = editor.open(write("counter.py", text))
    state = editor.state(uri, "two_adders", "violated")
    assert state["expected"] is True
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert found["severity"] == 3
    assert found["message"].startswith("as expected: two_adders: assertion failed")
    assert editor.lenses(uri)[0][1].startswith("✓ violated, as expected: assertion")


def test_a_package_that_is_not_looked_into_is_hinted_at_and_can_be(editor: Editor, write: Write) -> None:
    text = (
        "import dpor\nimport sortedcontainers\n\n\n@dpor.model\ndef m():\n"
        "    shared = sortedcontainers.SortedList()\n    dpor.spawn(shared.add, 1)\n"
        "    dpor.spawn(shared.add, 2)\n    dpor.join_all()\n"
    )
    uri = editor.open(write("m.py", text))
    editor.state(uri, "m", "verified")
    (hint,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert (hint["severity"], hint["code"], place(hint)) == (4, "DPOR503", (1, 0, 1, 23))
    (called,) = hint["relatedInformation"]
    assert called["location"]["range"]["start"]["line"] in (7, 8)
    action = editor.actions(uri, 1)[0]
    assert action["title"] == "Look inside sortedcontainers when m is checked"
    editor._apply(action["edit"])
    assert '@dpor.model(instrument=("sortedcontainers",))\n' in editor.texts[uri]


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("import dpor\n\n@dpor.model\ndef m(:\n    pass\n", "DPOR101", 3),
        ("import dpor\nimport no_such_package\n\n@dpor.model\ndef m():\n    pass\n", "DPOR102", 1),
        ("import dpor\n\n@dpor.model(algorithm='optimum')\ndef m():\n    pass\n", "DPOR105", 3),
        ("import dpor\n\n@dpor.model\ndef m(size):\n    pass\n", "DPOR106", 3),
    ],
)
def test_a_model_that_cannot_be_checked_says_why_at_its_place(
    editor: Editor, write: Write, text: str, code: str, where: int
) -> None:
    uri = editor.open(write("m.py", text))
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert (found["code"], found["severity"], found["range"]["start"]["line"]) == (code, 1, where)


def test_pulled_diagnostics_are_not_pushed_as_well(launch: Callable[..., Editor], write: Write) -> None:
    editor = launch()
    result = editor.initialize({"textDocument": {"diagnostic": {}}})
    assert result["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"] is True
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    report = editor.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert [item["code"] for item in report["items"]] == ["DPOR203", "DPOR203"]
    again = {"textDocument": {"uri": uri}, "previousResultId": report["resultId"]}
    assert editor.request("textDocument/diagnostic", again)["kind"] == "unchanged"
    whole = editor.request("workspace/diagnostic", {"previousResultIds": []})
    assert [item["uri"] for item in whole["items"]] == [uri]
    assert editor.published == []


def test_a_client_that_is_pushed_diagnostics_is_offered_no_others(editor: Editor) -> None:
    with pytest.raises(RequestError):
        editor.request("textDocument/diagnostic", {"textDocument": {"uri": "file:///x.py"}})
