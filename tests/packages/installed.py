"""Releases of packages, each in a folder of its own: one environment cannot hold two of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / ".installed"


def installed(requirement: str) -> Path:
    """The folder with a release (`name==version`), which is installed there without what it needs, unless it is there.

    Raises CalledProcessError if pip cannot get it. Several processes may ask at the same time.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = FOLDER / f"{requirement}-{version}"
    if folder.is_dir():
        return folder
    made = FOLDER / f"{folder.name}.{os.getpid()}"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", made, requirement],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        made.rename(folder)
    except OSError:
        # Another process was faster.
        shutil.rmtree(made)
    return folder
