"""How long an editor waits for the language server, what it costs while nobody types, and whether it grows.

python benchmarks/editor.py [--checks N] [--idle SECONDS] [--repeat N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "server" / "test_language_server"))

from lsp_editor import Editor  # noqa: E402
from lsp_models import BANK, COUNTER, ENDLESS  # noqa: E402
from lsp_processes import family, held, running_workers  # noqa: E402

MODEL = "opposite_transfers"
TARGETS = {
    "first diagnostic, cold server": "1.0 s",
    "first diagnostic, warm server": "0.2 s",
    "first diagnostic, from the cache": "0.1 s",
    "request while a check runs, median": "0.05 s",
    "request while a check runs, slowest of 200": "0.05 s",
    "a superseded check stops": "0.2 s",
    "a cancelled check stops": "0.2 s",
    "everything ends after the end of input": "2 s",
    "everything ends after the death of the client": "2 s",
    "1,000 edits in ten seconds, then the right verdict": "",
    "100 files opened at once, all verdicts": "",
    "processor seconds while idle": "0 s",
    "memory of the server, first to last check": "flat",
}


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "bank.py").write_text(BANK)
    return folder


def first_diagnostic(editor: Editor, path: Path) -> float:
    """Seconds from opening a file to its first diagnostic."""
    started = time.monotonic()
    uri = editor.open(path)
    editor.wait(lambda: editor.diagnostics.get(uri))
    return time.monotonic() - started


def cold(folder: Path) -> float:
    """Seconds from starting the server to the first diagnostic."""
    started = time.monotonic()
    editor = Editor(project(folder))
    try:
        editor.initialize()
        first_diagnostic(editor, folder / "bank.py")
        return time.monotonic() - started
    finally:
        editor.stop()


def settle(editor: Editor) -> None:
    """Wait until nothing of the server uses the processor."""
    before, now = -1.0, used(editor)
    while now - before > 0.005:
        time.sleep(0.5)
        before, now = now, used(editor)


def used(editor: Editor) -> float:
    server = psutil.Process(editor.process.pid)
    return sum(sum(item.cpu_times()[:2]) for item in [server, *server.children(recursive=True)])


def warm_and_cached(folder: Path, repeat: int) -> tuple[float, float]:
    """Seconds to the first diagnostic of a new file, and of one that the cache knows, in a server that is up."""
    editor = Editor(project(folder))
    fresh: list[float] = []
    cached: list[float] = []
    try:
        editor.initialize()
        for number in range(repeat):
            settle(editor)
            path = folder / f"bank{number}.py"
            path.write_text(BANK)
            fresh.append(first_diagnostic(editor, path))
            uri = path.as_uri()
            editor.close(uri)
            settle(editor)
            other = Editor(folder)
            try:
                other.initialize()
                settle(other)
                cached.append(first_diagnostic(other, path))
            finally:
                other.stop()
        return statistics.median(fresh), statistics.median(cached)
    finally:
        editor.stop()


def latencies(folder: Path) -> tuple[float, float]:
    """Median and slowest answer to lenses, hover, symbols and actions while checks keep every worker busy."""
    project(folder)
    path = folder / "endless.py"
    path.write_text(ENDLESS)
    editor = Editor(folder)
    try:
        editor.initialize()
        uri = editor.open(path)
        editor.wait(lambda: editor.states.get(uri, {}).get("many_schedules", {}).get("executions"))
        document = {"textDocument": {"uri": uri}}
        hover = {**document, "position": {"line": 10, "character": 6}}
        asked: list[Callable[[], object]] = [
            lambda: editor.lenses(uri),
            lambda: editor.request("textDocument/hover", hover),
            lambda: editor.request("textDocument/documentSymbol", document),
            lambda: editor.actions(uri, 10),
        ]
        times: list[float] = []
        for number in range(200):
            started = time.monotonic()
            asked[number % len(asked)]()
            times.append(time.monotonic() - started)
        return statistics.median(times), max(times)
    finally:
        editor.stop()


def busy(folder: Path) -> tuple[Editor, str]:
    """An editor whose server is in the middle of a check."""
    project(folder)
    path = folder / "endless.py"
    path.write_text(ENDLESS)
    editor = Editor(folder)
    editor.initialize()
    uri = editor.open(path)
    editor.wait(lambda: editor.states.get(uri, {}).get("many_schedules", {}).get("executions"))
    return editor, uri


def stops(folder: Path, stop: Callable[[Editor, str], object], *, everything: bool = False) -> float:
    """Seconds from `stop` until the workers that were checking are gone, or everything is."""
    editor, uri = busy(folder)
    try:
        processes = family(editor) if everything else running_workers(editor)
        started = time.monotonic()
        stop(editor, uri)
        if psutil.wait_procs(processes, timeout=10)[1]:
            raise AssertionError(f"{processes} did not end")
        return time.monotonic() - started
    finally:
        editor.stop()


def supersede(editor: Editor, uri: str) -> None:
    editor.edit(uri, "range(5)", "range(4)")


def cancel(editor: Editor, uri: str) -> None:
    arguments = {"command": "dpor.server.cancel", "arguments": [uri, "many_schedules"]}
    editor.ask("workspace/executeCommand", arguments)


def end_input(editor: Editor, uri: str) -> None:
    assert editor.process.stdin is not None
    editor.process.stdin.close()


def death_of_the_client(folder: Path) -> float:
    """Seconds until the server and a check are gone after the client has died, its pipes being held by another."""
    project(folder)
    path = folder / "endless.py"
    path.write_text(ENDLESS)
    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    editor = Editor(folder)
    try:
        editor.request("initialize", {"processId": client.pid, "rootUri": None, "capabilities": {}})
        editor.notify("initialized", {})
        uri = editor.open(path)
        editor.state(uri, "many_schedules", "checking")
        processes = family(editor)
        started = time.monotonic()
        client.kill()
        client.communicate()
        if psutil.wait_procs(processes, timeout=10)[1]:
            raise AssertionError(f"{processes} did not end")
        return time.monotonic() - started
    finally:
        client.kill()
        client.communicate()
        editor.stop()


def many_edits(folder: Path) -> str:
    """Seconds from the last of 1,000 edits in ten seconds to the verdict of the last text, and what is held then."""
    editor = Editor(project(folder))
    (folder / "counter.py").write_text(COUNTER)
    try:
        editor.initialize(settings={"checkOn": "type"})
        uri = editor.open(folder / "counter.py")
        editor.state(uri, "two_adders", "violated")
        before = held(editor)
        started, text = time.monotonic(), "== 2"
        for number in range(1000):
            editor.edit(uri, text, f"== {number + 3}")
            text = f"== {number + 3}"
            time.sleep(max(0.0, started + number * 0.01 - time.monotonic()))
        editor.edit(uri, text, "<= 2")
        last = time.monotonic()
        editor.state(uri, "two_adders", "verified")
        seconds = time.monotonic() - last
        after = held(editor)
        return (
            f"{seconds:.2f} s; threads {before.threads} to {after.threads}, "
            f"descriptors {before.descriptors} to {after.descriptors}"
        )
    finally:
        editor.stop()


def many_files(folder: Path) -> str:
    """Seconds until 100 violated models in as many files have their verdict, and what is held then."""
    editor = Editor(project(folder))
    try:
        editor.initialize()
        uri = editor.open(folder / "bank.py")
        editor.state(uri, MODEL, "violated")
        before = held(editor)
        started, uris = time.monotonic(), []
        for number in range(100):
            path = folder / f"bank{number}.py"
            path.write_text(BANK)
            uris.append(editor.open(path))
        for uri in uris:
            editor.wait(lambda uri=uri: editor.diagnostics.get(uri), seconds=120)
        seconds = time.monotonic() - started
        after = held(editor)
        return (
            f"{seconds:.1f} s; threads {before.threads} to {after.threads}, "
            f"descriptors {before.descriptors} to {after.descriptors}"
        )
    finally:
        editor.stop()


def idle(folder: Path, seconds: float) -> float:
    """Processor seconds of the server and all its workers in a while without requests."""
    editor = Editor(project(folder))
    try:
        editor.initialize()
        first_diagnostic(editor, folder / "bank.py")
        settle(editor)
        before = used(editor)
        time.sleep(seconds)
        return used(editor) - before
    finally:
        editor.stop()


def memory(folder: Path, checks: int) -> tuple[float, float, int]:
    """Resident MiB of the server after a tenth of the checks and after all of them, and its threads then."""
    editor = Editor(project(folder))
    try:
        editor.initialize()
        uri = editor.open(folder / "bank.py")
        editor.state(uri, MODEL, "violated")
        server = psutil.Process(editor.process.pid)
        early = 0.0
        for number in range(checks):
            editor.edit(uri, editor.texts[uri].splitlines()[0], f"import threading  # {number}")
            editor.state(uri, MODEL, "stale")
            editor.save(uri)
            editor.state(uri, MODEL, "violated")
            editor.received.clear()
            editor.published.clear()
            if number == checks // 10:
                early = server.memory_info().rss / (1 << 20)
        return early, server.memory_info().rss / (1 << 20), server.num_threads()
    finally:
        editor.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1000, help="checks of the memory row")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds of the idle row")
    parser.add_argument("--repeat", type=int, default=5, help="how often the first rows are measured")
    arguments = parser.parse_args()
    rows: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = [cold(folder / f"cold{number}") for number in range(arguments.repeat)]
        fresh, cached = warm_and_cached(folder / "warm", arguments.repeat)
        median, slowest = latencies(folder / "busy")
        superseded = stops(folder / "superseded", supersede)
        cancelled = stops(folder / "cancelled", cancel)
        unplugged = stops(folder / "unplugged", end_input, everything=True)
        orphaned = death_of_the_client(folder / "orphaned")
        edits = many_edits(folder / "edits")
        files = many_files(folder / "files")
        spent = idle(folder / "idle", arguments.idle)
        early, late, threads = memory(folder / "memory", arguments.checks)
    rows["first diagnostic, cold server"] = f"{statistics.median(starts):.2f} s"
    rows["first diagnostic, warm server"] = f"{fresh:.3f} s"
    rows["first diagnostic, from the cache"] = f"{cached:.3f} s"
    rows["request while a check runs, median"] = f"{median:.4f} s"
    rows["request while a check runs, slowest of 200"] = f"{slowest:.4f} s"
    rows["a superseded check stops"] = f"{superseded:.3f} s"
    rows["a cancelled check stops"] = f"{cancelled:.3f} s"
    rows["everything ends after the end of input"] = f"{unplugged:.2f} s"
    rows["everything ends after the death of the client"] = f"{orphaned:.2f} s"
    rows["1,000 edits in ten seconds, then the right verdict"] = edits
    rows["100 files opened at once, all verdicts"] = files
    rows["processor seconds while idle"] = f"{spent:.2f} s in {arguments.idle:g} s"
    rows["memory of the server, first to last check"] = (
        f"{early:.1f} to {late:.1f} MiB in {arguments.checks} checks, {threads} threads"
    )
    print("| what | measured | target |\n| --- | --- | --- |")
    for what, measured in rows.items():
        print(f"| {what} | {measured} | {TARGETS[what]} |")


if __name__ == "__main__":
    main()
