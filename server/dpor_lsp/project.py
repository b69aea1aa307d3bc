"""Where a project begins, and what its pyproject.toml says under `[tool.dpor]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dpor.codes import Code
from dpor.errors import DporError
from dpor.options import shown_value
from dpor.reading import read_file, unreadable
from dpor.results import SourceSpan
from dpor_lsp.options import ENGINE_OPTIONS, RUN_OPTIONS, did_you_mean, read_option

MARKERS = ("pyproject.toml", ".git", "setup.cfg")


@dataclass(frozen=True)
class Settings:
    """The project's own defaults: a model's decorator and the command line win over them.

    `options` are the engine's; `jobs`, `memory_limit` (bytes, 0 for none) and `hang_timeout` (seconds) are None
    where the project says nothing; `exclude` holds glob patterns relative to the root; `paths` is what is checked
    when no path is given.
    """

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    jobs: int | None = None
    memory_limit: int | None = None
    hang_timeout: float | None = None
    cache: bool = True
    exclude: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def find_root(path: Path, working_directory: Path) -> Path:
    """Return the project folder of an existing file or folder.

    That is the nearest folder at or above it with a pyproject.toml, .git or setup.cfg; without one the working
    directory if it holds the path, and otherwise the path's own folder.
    """
    path = path.resolve()
    folder = path if path.is_dir() else path.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in MARKERS):
            return candidate
    working_directory = working_directory.resolve()
    return working_directory if folder.is_relative_to(working_directory) else folder


def relative_name(path: Path, root: Path) -> str:
    """Return `path` as reports show it: relative to `root` with forward slashes, or absolute if it is elsewhere."""
    path = path.resolve()
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def read_settings(root: Path) -> Settings:
    """Read `[tool.dpor]` of the project's pyproject.toml; a project without it has the default settings.

    Raises DporError: DPOR105 for an unknown key or a value that is not accepted, DPOR101 for a file that is not TOML.
    """
    file = root / "pyproject.toml"
    try:
        content = read_file(file)
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except OSError as error:
        raise unreadable(file.name, error) from error
    if b"dpor" not in content:
        return Settings()
    # Imported here because most projects have no table to read, and start-up counts.
    import tomllib

    try:
        document = tomllib.loads(content.decode())
    except RecursionError as error:
        raise DporError(
            Code.SYNTAX_ERROR,
            "pyproject.toml nests too deeply to be read",
            "take brackets out of the value that nests",
            SourceSpan("pyproject.toml", 1),
        ) from error
    except ValueError as error:
        # Also a number of more digits than Python reads, which is no error of TOML.
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place is not None else (1, 1)
        span = SourceSpan("pyproject.toml", line, column)
        raise DporError(
            Code.SYNTAX_ERROR, f"pyproject.toml is not valid TOML: {error}", "correct the file", span
        ) from error
    line = _table_line(content)
    table: object = document
    for name in ("tool", "dpor"):
        table = cast("dict[str, object]", table).get(name, {})
        if not isinstance(table, dict):
            message = f"{name!r} in pyproject.toml is no table but {shown_value(table)}"
            raise DporError(Code.BAD_OPTION, message, "write [tool.dpor]", SourceSpan("pyproject.toml", line))
    return _settings(cast("dict[str, object]", table), line)


def _settings(table: Mapping[str, object], line: int) -> Settings:
    span = SourceSpan("pyproject.toml", line)
    options: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        try:
            if name in ENGINE_OPTIONS:
                options[name] = read_option(name, value, shown_as=f"[tool.dpor] {key}")
            elif name in RUN_OPTIONS and name != "format":
                fields[name] = read_option(name, value, shown_as=f"[tool.dpor] {key}")
            elif name in ("exclude", "paths"):
                fields[name] = _strings(key, value)
            elif name == "cache":
                if not isinstance(value, bool):
                    raise DporError(
                        Code.BAD_OPTION,
                        f"[tool.dpor] {key} does not accept {shown_value(value)}",
                        "use true or false",
                    )
                fields[name] = value
            else:
                known = [*ENGINE_OPTIONS, *(set(RUN_OPTIONS) - {"format"}), "exclude", "paths", "cache"]
                raise DporError(
                    Code.BAD_OPTION,
                    f"[tool.dpor] has no key {key!r}",
                    f"{did_you_mean(key, known)}it knows {', '.join(sorted(known))}",
                )
        except DporError as error:
            raise DporError(error.code, error.message, error.fix, span) from None
    return Settings(options=options, **fields)


def _strings(key: str, value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(item, str) for item in items):
        given = shown_value(cast("object", value))
        raise DporError(
            Code.BAD_OPTION,
            f"[tool.dpor] {key} does not accept {given}",
            "it accepts a list of strings",
        )
    return tuple(str(item) for item in items)


def _table_line(content: bytes) -> int:
    for number, line in enumerate(content.splitlines(), start=1):
        if line.replace(b" ", b"").startswith(b"[tool.dpor"):
            return number
    return 1
