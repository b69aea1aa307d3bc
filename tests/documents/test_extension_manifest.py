"""What the extension's package.json offers is what the server and the debug adapter accept."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dpor.options import Algorithm, MemoryModel
from dpor_lsp.debug_adapter.launching import STARTS, STEPS, Launch, read_launch
from dpor_lsp.language_server.settings import SETTING_NAMES, EditorSettings, read_settings
from dpor_lsp.options import ENGINE_OPTIONS

EXTENSION = Path(__file__).resolve().parents[2] / "vscode-extension"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
CONTRIBUTES = MANIFEST["contributes"]
(DEBUGGER,) = CONTRIBUTES["debuggers"]
LAUNCH = DEBUGGER["configurationAttributes"]["launch"]["properties"]
SETTINGS = {
    name.removeprefix("dpor."): value for name, value in CONTRIBUTES["configuration"]["properties"].items()
}


def test_a_launch_configuration_may_hold_what_the_debug_adapter_reads() -> None:
    assert set(LAUNCH) == {item.name for item in fields(Launch)}
    assert set(LAUNCH["options"]["properties"]) == set(ENGINE_OPTIONS)
    assert (LAUNCH["start"]["enum"], LAUNCH["start"]["default"]) == (list(STARTS), Launch().start)
    assert (LAUNCH["steps"]["enum"], LAUNCH["steps"]["default"]) == (list(STEPS), Launch().steps)
    documented = (EXTENSION.parent / "docs" / "replay.md").read_text(encoding="utf-8")
    for name in LAUNCH:
        assert f"`{name}`" in documented


@pytest.mark.parametrize("snippet", DEBUGGER["configurationSnippets"], ids=lambda item: item["label"])
def test_a_snippet_is_accepted_as_it_stands(snippet: dict[str, Any], tmp_path: Path) -> None:
    body = json.dumps(snippet["body"])
    filled = re.sub(r"\$\{\d:([^}]*)\}", r"\1", body).replace("\\\\${workspaceFolder}", tmp_path.as_posix())
    values = json.loads(filled)
    for key in ("model", "trace"):
        if key in values:
            values[key] = json.loads(values[key].removeprefix("^"))
    launch = read_launch(values)
    assert (launch.model is None) != (launch.trace is None)


def test_every_setting_is_read_by_the_server_or_by_the_extension() -> None:
    of_extension = {"importStrategy", "args", "trace.server"}
    assert set(SETTINGS) == SETTING_NAMES | of_extension
    sources = (EXTENSION / "src" / "settings.ts").read_text(encoding="utf-8")
    for name in of_extension - {"trace.server"}:
        assert f'"{name}"' in sources


def test_the_defaults_that_are_shown_are_those_of_the_server() -> None:
    shown = {name: SETTINGS[name]["default"] for name in SETTING_NAMES}
    assert read_settings(shown) == EditorSettings()


def test_what_is_suggested_is_accepted() -> None:
    assert set(SETTINGS["algorithm"]["examples"]) <= {item.value for item in Algorithm}
    assert set(SETTINGS["memoryModel"]["examples"]) <= {item.value for item in MemoryModel}
    for name in ("algorithm", "memoryModel", "checkOn"):
        for value in SETTINGS[name].get("examples", SETTINGS[name].get("enum")):
            assert read_settings({name: value}).problems == ()


def test_every_command_and_setting_is_in_the_readme() -> None:
    text = (EXTENSION / "README.md").read_text(encoding="utf-8")
    for name in SETTINGS:
        assert f"`dpor.{name}`" in text
    for command in CONTRIBUTES["commands"]:
        assert command["title"] in text


def test_every_step_of_the_walkthrough_can_be_completed() -> None:
    commands = {item["command"] for item in CONTRIBUTES["commands"]}
    source = (EXTENSION / "src" / "extension.ts").read_text(encoding="utf-8")
    for walkthrough in CONTRIBUTES["walkthroughs"]:
        for step in walkthrough["steps"]:
            assert step["completionEvents"]
            for event in step["completionEvents"]:
                kind, _, what = event.partition(":")
                if kind == "onCommand":
                    assert what in commands
                    assert f"command:{what}" in step["description"]
                elif kind == "onContext":
                    assert f'tell("{what.removeprefix("dpor.")}"' in source
                else:
                    assert event == "onView:workbench.view.testing"
