"""Every setting of the server has the effect that its description says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_editor import Editor
from lsp_models import BANK, COUNTER, ENDLESS

Write = Callable[[str, str], Path]
Launch = Callable[..., Editor]


@pytest.mark.parametrize(
    ("settings", "state", "code"),
    [({"maxExecutions": 5}, "incomplete", "DPOR302"), ({"timeout": 0.5}, "incomplete", "DPOR304")],
)
def test_limits_end_a_check(launch: Launch, write: Write, settings: dict, state: str, code: str) -> None:
    editor = launch()
    editor.initialize(settings=settings)
    uri = editor.open(write("endless.py", ENDLESS))
    found = editor.state(uri, "many_schedules", state)
    assert found["reason"]["code"] == code


def test_memory_is_limited_as_it_is_set(launch: Launch, write: Write) -> None:
    text = "import dpor\n\n\n@dpor.model\ndef m():\n    kept = bytearray(400 << 20)\n    assert kept\n"
    path = write("m.py", text)
    for limit, state in ((256, "error"), (2048, "verified")):
        editor = launch()
        editor.initialize(settings={"memoryLimit": limit})
        editor.state(editor.open(path), "m", state)
        editor.stop()


def test_algorithm_and_memory_model_win_over_what_models_say(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.initialize(settings={"algorithm": "source", "memoryModel": "tso"})
    uri = editor.open(write("counter.py", COUNTER))
    state = editor.state(uri, "two_adders", "violated")
    assert (state["algorithm"], state["memoryModel"]) == ("source", "tso")


def test_strict_refuses_a_verdict_that_rests_on_assumptions(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.initialize(settings={"strict": True})
    text = "import dpor, weakref\nclass T: pass\n@dpor.model\ndef m():\n    weakref.ref(T())\n"
    uri = editor.open(write("m.py", text))
    editor.state(uri, "m", "error")
    found = editor.wait(lambda: editor.diagnostics.get(uri))
    assert ("DPOR116", 4) in {(item["code"], item["range"]["start"]["line"]) for item in found}


def test_no_more_checks_run_at_once_than_is_set(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.initialize(settings={"jobs": 1, "timeout": 1})
    text = ENDLESS + "\n@dpor.model\ndef more():\n    many_schedules()\n"
    uri = editor.open(write("endless.py", text))
    editor.state(uri, "more", "incomplete")
    checking = [
        {item["name"]: item["message"] for item in params["models"] if item["state"] == "checking"}
        for method, params in editor.received
        if method == "dpor/status"
    ]
    assert {name for models in checking for name in models} >= {"many_schedules", "more"}
    # A check that has ended is shown as it was until its findings are there; only one that runs goes on.
    together = [models for models in checking if len(models) > 1]
    going_on = [name for name in ("many_schedules", "more") if len({models[name] for models in together}) > 1]
    assert len(going_on) <= 1


@pytest.mark.parametrize("wanted", [True, False])
def test_inlay_hints_of_a_replay_can_be_left_out(launch: Launch, write: Write, wanted: bool) -> None:
    editor = launch()
    editor.initialize(settings={"inlayHints": wanted})
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    editor.command("replay", uri, "opposite_transfers")
    editor.command("replayStep", uri, "opposite_transfers", 1)
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 40, "character": 0}}
    found = editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": everything})
    assert bool(found) is wanted
