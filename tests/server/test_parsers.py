"""Whatever a parser is given, it gives what it is for or the error that it promises: from any text, and from a good
one with something else in some places.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.schedule import decode
from dpor.errors import DporError
from dpor.results import CheckRequest, ReplayRequest
from dpor.tracing import trace_model
from dpor_lsp.language_server.wire.framing import FileSource, FramingError, MessageReader
from dpor_lsp.project import read_settings
from dpor_lsp.trace.storage import trace_of_json, trace_to_json

MODEL = """
import dpor

@dpor.model
def model():
    cell = [0]
    def add():
        cell[0] += 1
    for thread in [dpor.spawn(add) for _ in range(2)]:
        thread.join()
    assert cell[0] == 2
"""
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.just(10**400)
    | st.just("main")
)
JSON = st.recursive(
    LEAVES,
    lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=8), one, max_size=4),
    max_leaves=12,
)
# Where to go in a document, and what to put there.
EDITS = st.lists(st.tuples(st.lists(st.integers(0, 40), max_size=6), JSON), min_size=1, max_size=3)
SOME = settings(max_examples=200, deadline=None)


def edited(document: Any, way: list[int], value: Any) -> Any:
    """The document with another value at the end of a way of indices, each taken from what there is."""
    if not way or not isinstance(document, dict | list) or not document:
        return value
    if isinstance(document, dict):
        name = list(document)[way[0] % len(document)]
        return {**document, name: edited(document[name], way[1:], value)}
    index = way[0] % len(document)
    return [*document[:index], edited(document[index], way[1:], value), *document[index + 1 :]]


@contextlib.contextmanager
def only(*codes: Code) -> Iterator[None]:
    """What is done here raises nothing, or an error with one of these codes."""
    try:
        yield
    except DporError as error:
        if error.code not in codes:
            raise


@pytest.fixture(scope="module")
def schedule(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """A schedule, and the trace of its replay as JSON."""
    folder = tmp_path_factory.mktemp("parsers")
    (folder / "model.py").write_text(MODEL)
    found = check_model(CheckRequest("model.py", "model", str(folder))).violations[0].schedule
    trace = trace_model(ReplayRequest("model.py", "model", str(folder), found))
    return found, json.loads(json.dumps(trace_to_json(trace)))


@SOME
@given(st.text() | st.text().map("dpor1:".__add__))
@example("dpor1:" + "A" * 10_000)
def test_any_text_is_a_schedule_or_refused_as_one(text: str) -> None:
    with only(Code.BAD_SCHEDULE):
        decode(text)


@SOME
@given(edits=EDITS)
def test_a_schedule_that_was_edited_is_read_or_refused(schedule: tuple[str, Any], edits: Any) -> None:
    body = schedule[0].partition(":")[2]
    content = json.loads(zlib.decompress(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
    for way, value in edits:
        content = edited(content, way, value)
    data = zlib.compress(json.dumps(content).encode())
    with only(Code.BAD_SCHEDULE):
        decode("dpor1:" + base64.urlsafe_b64encode(data).decode().rstrip("="))


@SOME
@given(edits=EDITS)
def test_a_trace_that_was_edited_is_read_or_refused(schedule: tuple[str, Any], edits: Any) -> None:
    document = schedule[1]
    for way, value in edits:
        document = edited(document, way, value)
    with only(Code.BAD_TRACE):
        trace_of_json(document, "trace.json")


@SOME
@given(
    st.binary()
    | st.text().map(lambda text: f"[tool.dpor]\n{text}\n".encode())
    | st.tuples(
        st.sampled_from(
            ["timeout", "max_steps", "algorithm", "paths", "jobs", "cache", "k", "instrument", "memory_limit"]
        ),
        JSON.map(json.dumps),
    ).map(lambda pair: f"[tool.dpor]\n{pair[0]} = {pair[1]}\n".encode())
)
def test_any_settings_are_read_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_bytes(content)
        with only(Code.BAD_OPTION, Code.SYNTAX_ERROR):
            read_settings(Path(folder))


@SOME
@given(
    st.lists(
        st.binary(max_size=30)
        | st.sampled_from([b"\r\n", b"\n", b"Content-Length: 2\r\n\r\n{}", b"GET / HTTP/1.1\r\n"])
    )
)
def test_messages_are_found_among_any_bytes_that_are_none(pieces: list[bytes]) -> None:
    good = b'{"a": 1}'
    data = b"".join(pieces) + b"\r\n\r\nContent-Length: %d\r\n\r\n" % len(good) + good

    async def bodies() -> list[bytes]:
        found: list[bytes] = []
        with ThreadPoolExecutor(1) as executor:
            reader = MessageReader(FileSource(BytesIO(data), executor))
            while True:
                try:
                    body = await reader.body()
                except FramingError:
                    continue
                if body is None:
                    return found
                found.append(body)

    assert asyncio.run(asyncio.wait_for(bodies(), 30))[-1:] == [good]
