"""Make the extension's package, `dpor-lsp-TARGET-VERSION.vsix`, for the platform that this runs on.

    python3 vscode-extension/scripts/package.py [--wheel FILE] [--bundle-only]

The package holds, in `bundled/`, a wheel of this project to install into a user's environment, and an unpacked copy
that works without being installed: the kernel is built against the stable ABI of Python, and greenlet, which is not,
is there for each version of `PYTHONS`. Without `--wheel` the wheel is built first. Needs the project's environment
(`scripts/run_tests.py` makes it), Rust, Node and PyPI.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

EXTENSION = Path(__file__).resolve().parent.parent
ROOT = EXTENSION.parent
BUNDLED = EXTENSION / "bundled"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
COMPILED = "greenlet"
"""The one dependency that is compiled for each version of Python, and that workers need."""
NOT_NEEDED = {COMPILED, "watchdog", "junitparser"}
"""What neither the language server nor the debug adapter imports, and what is put elsewhere."""
TARGETS = {
    ("Linux", "x86_64"): "linux-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Darwin", "x86_64"): "darwin-x64",
    ("Darwin", "arm64"): "darwin-arm64",
    ("Windows", "AMD64"): "win32-x64",
    ("Windows", "ARM64"): "win32-arm64",
}


def main() -> int:
    """Bundle and package; return the exit code."""
    parser = argparse.ArgumentParser(description="Make the .vsix for this platform.")
    parser.add_argument("--wheel", type=Path, help="a wheel of this project, instead of building one")
    parser.add_argument("--bundle-only", action="store_true", help="make bundled/ and no package")
    arguments = parser.parse_args()
    target = TARGETS.get((platform.system(), platform.machine()))
    if target is None:
        sys.exit(f"VS Code has no packages for {platform.system()} on {platform.machine()}")
    shutil.rmtree(BUNDLED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        bundle(arguments.wheel or build_wheel(Path(scratch)), Path(scratch))
    if arguments.bundle_only:
        return 0
    npx = shutil.which("npx")
    if npx is None:
        sys.exit("npx was not found: the package is made with Node")
    command = [npx, "--no-install", "vsce", "package", "--no-dependencies", "--target", target]
    command += ["--allow-missing-repository", "--no-rewrite-relative-links"]
    return subprocess.run(command, cwd=EXTENSION, check=False, stdin=subprocess.DEVNULL).returncode


def build_wheel(folder: Path) -> Path:
    """Build the project's wheel and return its path."""
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    return next(folder.glob("dpor_lsp-*.whl"))


def bundle(wheel: Path, scratch: Path) -> None:
    """Fill `bundled/` from the wheel and from PyPI."""
    checker, server = BUNDLED / "checker", BUNDLED / "server"
    checker.mkdir(parents=True)
    shutil.copy(wheel, BUNDLED)
    shutil.copy(Path(__file__).with_name("run.py"), BUNDLED)
    unpack(wheel, checker)
    requirements = dependencies(checker)
    pip("install", "--only-binary", ":all:", "--target", str(server), *requirements)
    # What the list above pulled in beyond itself is kept, the programs that came with it are not.
    shutil.rmtree(server / "bin", ignore_errors=True)
    wheels = scratch / "compiled"
    for version in PYTHONS:
        download_compiled(version, wheels)
    for compiled in sorted(wheels.glob("*.whl")):
        unpack(compiled, checker)
    for source in (checker / COMPILED).glob("**/*.[ch]*"):
        if source.suffix in (".c", ".cpp", ".h", ".hpp"):
            source.unlink()
    shutil.rmtree(checker / COMPILED / "tests", ignore_errors=True)
    for cache in BUNDLED.glob("**/__pycache__"):
        shutil.rmtree(cache)


def dependencies(checker: Path) -> list[str]:
    """Return the requirements of the distribution that was unpacked into `checker`, without those of NOT_NEEDED."""
    distribution = next(iter(metadata.distributions(name="dpor-lsp", path=[str(checker)])))
    required = [line for line in distribution.requires or [] if "extra ==" not in line]
    names = {line: re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in required}
    return [line for line in required if names[line] not in NOT_NEEDED]


def download_compiled(version: str, folder: Path) -> None:
    """Download the wheel of COMPILED, as it is installed here, for another version of Python on this platform."""
    abi = f"cp{version.replace('.', '')}"
    platforms = [option for tag in platform_tags() for option in ("--platform", tag)]
    pinned = f"{COMPILED}=={metadata.version(COMPILED)}"
    pip(
        *("download", "--no-deps", "--only-binary", ":all:", "--implementation", "cp"),
        *("--python-version", version, "--abi", abi, *platforms, "--dest", str(folder), pinned),
    )


def platform_tags() -> list[str]:
    """Return the tags of wheels that work here."""
    from packaging.tags import platform_tags as tags

    return list(tags()) or [sysconfig.get_platform().replace("-", "_").replace(".", "_")]


def unpack(wheel: Path, folder: Path) -> None:
    """Unpack a wheel whose packages lie at its root."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)


def pip(*arguments: str) -> None:
    """Run pip, quietly; raises CalledProcessError."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
