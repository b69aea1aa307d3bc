"""Make the project's own virtual environment, `.venv`, and keep it up to date.

The environment holds the packages of `requirements-dev.lock`, exactly as pinned there, and this project as
an editable install with an optimised kernel. It is made again only when the lock file, the project file,
the kernel's sources or the interpreter change. Only the standard library is used here, because nothing else
is installed yet.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
LOCK = ROOT / "requirements-dev.lock"


def executable(name: str) -> str:
    """Return the path of the program `name` inside the environment."""
    folder, suffix = ("Scripts", ".exe") if os.name == "nt" else ("bin", "")
    return str(ENVIRONMENT / folder / f"{name}{suffix}")


def prepare() -> None:
    """Make the environment, or leave it alone if nothing that it depends on has changed.

    Exits with a message if the interpreter is too old or Rust is missing; raises CalledProcessError if pip
    fails.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 -- nothing has checked the version yet
        sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    stamp = ENVIRONMENT / "made-from"
    fingerprint = _fingerprint()
    if stamp.is_file() and stamp.read_text() == fingerprint and Path(executable("dpor-lsp")).exists():
        return
    if shutil.which("cargo") is None:
        sys.exit("cargo was not found: the kernel is written in Rust; install a Rust toolchain first")
    print(f"Making {ENVIRONMENT} (about a minute the first time)", flush=True)
    packages = _digest([LOCK])
    packages_stamp = ENVIRONMENT / "packages-from"
    if not packages_stamp.is_file() or packages_stamp.read_text() != packages + sys.version:
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        _pip("--require-hashes", "-r", str(LOCK))
        packages_stamp.write_text(packages + sys.version)
    _pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    stamp.write_text(fingerprint)


def run(*command: str) -> int:
    """Run a program of the environment in the project's root and return its exit code."""
    program, *arguments = command
    return subprocess.run([executable(program), *arguments], cwd=ROOT, check=False).returncode


def _pip(*arguments: str) -> None:
    command = [executable("python"), "-m", "pip", "install", "--quiet", *arguments]
    subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)


def _fingerprint() -> str:
    kernel = ROOT / "engine" / "kernel"
    sources = sorted(path for path in (kernel / "src").rglob("*") if path.is_file())
    files = [LOCK, ROOT / "pyproject.toml", kernel / "Cargo.toml", kernel / "Cargo.lock", *sources]
    return _digest(files) + sys.version


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()
