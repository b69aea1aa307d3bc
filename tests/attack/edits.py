"""Random edits of an open document: each case is a burst of them, and a save.

The document's models are drawn so that their verdicts are known. Bad is
- a verdict that is not that of the text on the screen, or none within PATIENCE seconds,
- a request that is refused with an internal error, or gets no answer,
- the end of the server, or what it holds at the end: more memory than MOST_GROWTH, more processes or descriptors than
  after the first quarter of the cases.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "server" / "test_language_server"))

import psutil
from lsp_editor import Editor, RequestError

PATIENCE = 60.0
MOST_GROWTH = 40 << 20
INTERNAL_ERROR = -32603
MODELS = 3
# The end of a comment, which no line ends at, or at which one does.
COMMENTS = (
    "",
    "plain",
    "\f",
    "a\fb",
    "\v",
    "\x1c\x1d\x1e",
    "\x85",
    "\u2028\u2029",
    "äöü",
    "\U0001f600",
    "'''",
    "\t",
)
LINE_ENDS = ("\n", "\r\n")


@dataclass(frozen=True)
class Body:
    """What each of two threads does, and what a check says of that."""

    text: str
    state: str


BODIES = (
    Body("count[0] += 1", "violated"),
    Body("with lock: count[0] += 1", "verified"),
    Body("lock.acquire(); count[0] += 1; lock.release()", "verified"),
    Body("count[0] += 2", "violated"),
    Body("raise ValueError('\u2028')", "violated"),
    Body("lock.acquire()", "violated"),
    Body("with lock: count[0] = count[0] + 1", "verified"),
)
REQUESTS = ("codeLens", "documentSymbol", "hover", "codeAction", "inlayHint", "completion", "diagnostic")


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` bursts of edits; returns the bad ones."""
    path = folder / "models.py"
    path.write_text("")
    editor = Editor(folder)
    session = _Session(editor, path, random.Random(seed))
    try:
        return session.run(count)
    finally:
        editor.stop()


@dataclass(frozen=True)
class _Held:
    memory: int
    processes: int
    descriptors: int


class _Session:
    """One server and one document in it."""

    def __init__(self, editor: Editor, path: Path, drawn: random.Random) -> None:
        self._editor = editor
        self._drawn = drawn
        editor.initialize()
        self._bodies = [BODIES[0]] * MODELS
        self._uri = editor.open(path, self._text())
        self._bad: list[str] = []

    def run(self, count: int) -> list[str]:
        """Try so many bursts."""
        first: _Held | None = None
        for number in range(count):
            if self._editor.ended:
                self._bad.append(f"edits {number}: the server has ended")
                return self._bad
            try:
                self._burst()
            except (AssertionError, RequestError) as error:
                self._bad.append(f"edits {number}: {error}\n{self._editor.texts[self._uri]!r}")
            if number == count // 4:
                first = self._held()
        last = self._held()
        if first is not None and (
            last.memory > first.memory + MOST_GROWTH
            or last.processes > first.processes + 2
            or last.descriptors > first.descriptors + 8
        ):
            self._bad.append(f"edits: the server has grown from {first} to {last}")
        return self._bad

    def _burst(self) -> None:
        for _ in range(self._drawn.randint(1, 5)):
            self._bodies[self._drawn.randrange(MODELS)] = self._drawn.choice(BODIES)
            self._change_to(self._text())
            if self._drawn.random() < 0.3:
                self._ask()
        self._editor.save(self._uri)
        for number, body in enumerate(self._bodies):
            self._expect(f"model_{number}", body)

    def _change_to(self, text: str) -> None:
        """Edit the document in pieces: what stands between what both texts begin and end with is replaced."""
        before = self._editor.texts[self._uri]
        first = next((i for i, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), None)
        if first is None:
            return
        # Never between the two characters of an end of line.
        first = max(first - 1, 0)
        last = 0
        most = min(len(before), len(text)) - first
        while last < most and before[-last - 1] == text[-last - 1]:
            last += 1
        old = before[first : len(before) - last]
        new = text[first : len(text) - last]
        middle = self._drawn.randint(0, len(new))
        self._replace(first, len(old), new[:middle])
        self._replace(first + middle, 0, new[middle:])
        assert self._editor.texts[self._uri] == text

    def _replace(self, first: int, length: int, new: str) -> None:
        text = self._editor.texts[self._uri]
        changed = {"start": _position(text, first), "end": _position(text, first + length)}
        self._editor.texts[self._uri] = text[:first] + new + text[first + length :]
        self._editor._changed_to(self._uri, {"range": changed, "text": new})

    def _ask(self) -> None:
        document = {"uri": self._uri}
        lines = self._editor.texts[self._uri].count("\n")
        here = {"line": self._drawn.randint(0, lines + 1), "character": self._drawn.randint(0, 40)}
        method = self._drawn.choice(REQUESTS)
        params = {
            "textDocument": document,
            "position": here,
            "range": {"start": {"line": 0, "character": 0}, "end": here},
            "context": {"diagnostics": []},
        }
        try:
            self._editor.request(f"textDocument/{method}", params, PATIENCE)
        except RequestError as error:
            # A request for a text that has changed meanwhile may be refused.
            if error.code == INTERNAL_ERROR:
                raise

    def _expect(self, model: str, body: Body) -> None:
        self._editor.state(self._uri, model, body.state)

    def _text(self) -> str:
        end = self._drawn.choice(LINE_ENDS)
        lines = [f"# {self._drawn.choice(COMMENTS)}", "import threading", "import dpor", ""]
        for number, body in enumerate(self._bodies):
            lines += [
                f"# {self._drawn.choice(COMMENTS)}",
                "@dpor.model",
                f"def model_{number}():",
                "    lock = threading.Lock()",
                "    count = [0]",
                "    def add():",
                f"        {body.text}  # {self._drawn.choice(COMMENTS)}",
                "    threads = [dpor.spawn(add) for _ in range(2)]",
                "    for thread in threads: thread.join()",
                "    assert count[0] == 2",
                "",
            ]
        return end.join(lines)

    def _held(self) -> _Held:
        server = psutil.Process(self._editor.process.pid)
        return _Held(
            server.memory_info().rss,
            len(server.children(recursive=True)),
            server.num_fds() if hasattr(server, "num_fds") else 0,
        )


def _position(text: str, index: int) -> dict[str, int]:
    """Where the protocol says that a character is: lines end at line feeds, carriage returns, or both."""
    before = text[:index].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}
