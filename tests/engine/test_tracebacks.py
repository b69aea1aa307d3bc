"""A traceback that a model looks at has no frames of the checker: it is that of plain Python, but for library code."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

import dpor

HEADER = """
import asyncio, concurrent.futures, contextlib, copy, functools, operator, os, queue, random, threading, time, traceback

def frames(error):
    return [(entry.filename, entry.lineno, entry.name) for entry in traceback.extract_tb(error.__traceback__)]
"""

RAISING = {
    "a lock": "threading.Lock().release()",
    "an argument of a semaphore": "threading.Semaphore(-1)",
    "a queue": "queue.Queue().get_nowait()",
    "a simple queue": "queue.SimpleQueue().get_nowait()",
    "a thread": "threading.current_thread().join()",
    "a file": "open('/nonexistent/file')",
    "a function of os": "os.stat('/nonexistent/file')",
    "sleep": "time.sleep(-1)",
    "a random number": "random.choice([])",
    "the result of a future": """
        future = concurrent.futures.Future()
        future.set_exception(KeyError(1))
        future.result()
    """,
    "a task of a pool": """
        def work():
            raise KeyError(1)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(work).result()
    """,
    "a function with a cache": """
        @functools.lru_cache
        def function(number):
            return 1 / number
        function(0)
    """,
    "a class that is copied": """
        class Copied:
            def __deepcopy__(self, memo):
                raise KeyError(1)
        copy.deepcopy(Copied())
    """,
    "a generator as a context manager": """
        @contextlib.contextmanager
        def managed():
            try:
                yield
            except KeyError as error:
                raise ValueError from error
        with managed():
            raise KeyError
    """,
    "a coroutine": """
        async def main():
            raise KeyError(1)
        asyncio.run(main())
    """,
    "a task": """
        async def work():
            await asyncio.sleep(0)
            raise KeyError(1)
        async def main():
            await asyncio.create_task(work())
        asyncio.run(main())
    """,
    "tasks that are gathered": """
        async def work():
            raise KeyError(1)
        async def main():
            await asyncio.gather(work(), work())
        asyncio.run(main())
    """,
    "a future of a loop": """
        async def main():
            future = asyncio.get_running_loop().create_future()
            future.set_exception(KeyError(1))
            await future
        asyncio.run(main())
    """,
    "no running loop": "asyncio.get_running_loop()",
    "a task that is cancelled": """
        async def work():
            await asyncio.sleep(1)
        async def main():
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            task.cancel()
            await task
        try:
            asyncio.run(main())
        except asyncio.CancelledError as error:
            raise KeyError(1) from error
    """,
    "a time limit": """
        async def main():
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        asyncio.run(main())
    """,
    "a function in a thread": """
        async def main():
            await asyncio.to_thread(operator.truediv, 1, 0)
        asyncio.run(main())
    """,
}

LOOKING = {
    "a handler": """
        try:
            function()
        except Exception as error:
            return show(error)
    """,
    "a handler of groups": """
        found = []
        try:
            function()
        except* Exception as group:
            found += [frames(group), *map(show, group.exceptions)]
        return found
    """,
    "what a with statement is left with": """
        class Left:
            def __enter__(self):
                return self
            def __exit__(self, kind, error, trace):
                self.found = show(error)
                return True
        with Left() as left:
            function()
        return left.found
    """,
    "a future that keeps it": """
        def work():
            function()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return show(pool.submit(work).exception())
    """,
    "a task that keeps it": """
        async def work():
            function()
        async def main():
            task = asyncio.create_task(work())
            await asyncio.wait([task])
            return show(task.exception())
        return asyncio.run(main())
    """,
    "the handler of a loop": """
        found = []
        async def main():
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda loop, context: found.append(show(context["exception"])))
            loop.call_soon(function)
            await asyncio.sleep(0)
        asyncio.run(main())
        return found
    """,
}

SHOWN = """
def show(error):
    chain = []
    while error is not None:
        chain.append((type(error).__name__, frames(error)))
        error = error.__cause__ or error.__context__
    return chain
"""

OF_PYTHON = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
OF_CHECKER = str(Path(dpor.__file__).parent)


def in_plain_python(file: Path) -> str:
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def without_library(shown: object) -> object:
    """What is shown of a chain of exceptions, without frames of the library: stand-ins have none of those."""
    if isinstance(shown, list):
        entries: list[object] = shown
        return [without_library(entry) for entry in entries if not is_of_library(entry)]
    if isinstance(shown, tuple):
        parts: tuple[object, ...] = shown
        return tuple(map(without_library, parts))
    return shown


def is_of_library(entry: object) -> bool:
    return isinstance(entry, tuple) and str(entry[0]).startswith(OF_PYTHON)  # pyright: ignore[reportUnknownArgumentType]


def program(tmp_path: Path, raising: str, looking: str) -> Path:
    file = tmp_path / "program.py"
    file.write_text(
        f"{HEADER}{SHOWN}\n"
        f"def function():\n{textwrap.indent(textwrap.dedent(raising).strip(), '    ')}\n\n"
        f"def shown():\n{textwrap.indent(textwrap.dedent(looking).strip(), '    ')}\n\n"
        "if __name__ == '__main__':\n    print(repr(shown()))\n"
    )
    return file


def check_against_plain(tmp_path: Path, raising: str, looking: str) -> None:
    file = program(tmp_path, raising, looking)
    plain = without_library(ast.literal_eval(in_plain_python(file)))
    file.write_text(
        f"{file.read_text()}\nimport dpor\n\n@dpor.model\ndef model():\n"
        f"    found = shown()\n    assert not any({OF_CHECKER!r} in str(part) for part in found), found\n"
        f"    print('FOUND', repr(found))\n"
    )
    # In a process of its own, whose modules reach little, and in any one execution: what formats a traceback has many
    # orders beside other threads.
    options = ["--algorithm", "random", "--max-executions", "1", "--format", "json"]
    checked = subprocess.run(
        [sys.executable, "-m", "dpor_lsp", "--check", "--no-cache", *options, file.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    (result,) = json.loads(checked.stdout)["models"]
    assert result["verdict"] == "incomplete", result
    found = result["output"].partition("FOUND ")[2]
    assert without_library(ast.literal_eval(found)) == plain


@pytest.mark.parametrize("raising", RAISING.values(), ids=RAISING.keys())
def test_a_handler_sees_the_frames_of_the_program(tmp_path: Path, raising: str) -> None:
    check_against_plain(tmp_path, raising, LOOKING["a handler"])


def test_a_future_may_get_a_class_of_exceptions(tmp_path: Path) -> None:
    raising = """
        async def main():
            future = asyncio.get_running_loop().create_future()
            future.set_exception(KeyError)
            await future
        asyncio.run(main())
    """
    check_against_plain(tmp_path, raising, LOOKING["a handler"])


def test_an_exception_whose_class_has_code_for_attributes_is_handled(tmp_path: Path) -> None:
    raising = """
        import dataclasses

        @dataclasses.dataclass(frozen=True)
        class Frozen(Exception):
            code: int

            def __getattribute__(self, name):
                assert name != "__traceback__" or operator.index(0), "asked of the class"
                return super().__getattribute__(name)

        def work():
            raise Frozen(1)

        try:
            work()
        except Frozen:
            queue.Queue().get_nowait()
    """
    check_against_plain(
        tmp_path, raising, LOOKING["a handler"].replace("show(error)", "type(error.__context__).__name__")
    )


@pytest.mark.parametrize("looking", LOOKING.values(), ids=LOOKING.keys())
def test_who_comes_by_an_exception_sees_the_frames_of_the_program(tmp_path: Path, looking: str) -> None:
    check_against_plain(tmp_path, RAISING["a queue"], looking)
