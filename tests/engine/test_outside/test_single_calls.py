"""Two threads that each make one call come to what the two orders of the calls come to, and to nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpor.results import Verdict

CALLS = {
    "create": 'os.close(os.open("new", os.O_CREAT | os.O_WRONLY))',
    "create-only": 'os.close(os.open("new", os.O_CREAT | os.O_EXCL | os.O_WRONLY))',
    "exists": 'os.path.exists("new")',
    "file-exists": 'os.path.isfile("a")',
    "link-exists": 'os.path.lexists("new")',
    "list": 'tuple(sorted(os.listdir(".")))',
    "scan": 'tuple(sorted((entry.name, entry.is_dir()) for entry in os.scandir(".")))',
    "glob": 'tuple(sorted(glob.glob("*")))',
    "path-glob": 'tuple(sorted(map(str, Path(".").glob("*"))))',
    "mkdir": 'os.mkdir("new")',
    "mkdir-below": 'os.mkdir("new/inner")',
    "rmdir": 'os.rmdir("empty")',
    "mkdir-in-empty": 'os.mkdir("empty/inner")',
    "unlink": 'os.unlink("a")',
    "path-unlink": 'Path("a").unlink()',
    "size": 'os.path.getsize("a")',
    "truncate": 'os.truncate("a", 1)',
    "rename": 'os.rename("a", "new")',
    "rename-b": 'os.rename("b", "new")',
    "replace": 'os.replace("b", "a")',
    "rename-folder": 'os.rename("sub", "new")',
    "below-folder": 'os.path.exists("sub/c")',
    "below-new": 'os.path.exists("new/c")',
    "link": 'os.link("a", "new")',
    "links": 'os.stat("a").st_nlink',
    "symlink": 'os.symlink("b", "new")',
    "symlink-size": 'os.stat("new").st_size',
    "chmod": 'os.chmod("a", 0o400)',
    "mode": 'stat.S_IMODE(os.stat("a").st_mode)',
    "chdir": 'os.chdir("sub")',
    "cwd": "os.path.basename(os.getcwd())",
    "relative": 'os.path.exists("c")',
    "set-variable": 'os.environ.__setitem__("DPOR_X", "1")',
    "get-variable": 'os.environ.get("DPOR_X")',
    "has-variable": '"DPOR_X" in os.environ',
    "variables": '"DPOR_X" in list(os.environ)',
    "drop-variable": 'os.environ.pop("DPOR_X", None)',
    "getenv": 'os.getenv("DPOR_X")',
    "umask": "os.umask(0o077)",
    "set-limit": "sys.setrecursionlimit(4321)",
    "get-limit": "sys.getrecursionlimit() == 4321",
    "set-handler": "signal.signal(signal.SIGUSR1, signal.SIG_IGN) is signal.SIG_DFL",
    "get-handler": "signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN",
    "set-other": "signal.signal(signal.SIGUSR2, signal.SIG_IGN) is signal.SIG_DFL",
    "disable": "gc.disable()",
    "is-enabled": "gc.isenabled()",
    "add-path": "sys.path.append('nowhere')",
    "has-path": "'nowhere' in sys.path",
}
GROUPS = (
    (
        "create",
        "create-only",
        "exists",
        "link-exists",
        "list",
        "scan",
        "glob",
        "path-glob",
        "mkdir",
        "mkdir-below",
    ),
    ("unlink", "path-unlink", "size", "truncate", "rename", "replace", "link", "links", "file-exists"),
    ("rename", "rename-b", "create-only", "symlink", "symlink-size", "mkdir", "rename-folder"),
    ("rename-folder", "below-folder", "below-new", "mkdir-below", "chdir"),
    ("rmdir", "mkdir-in-empty", "list"),
    ("chmod", "mode", "unlink", "rename"),
    ("chdir", "cwd", "relative", "exists"),
    ("set-variable", "get-variable", "has-variable", "variables", "drop-variable", "getenv"),
    ("umask", "create", "mkdir"),
    ("set-limit", "get-limit"),
    ("set-handler", "get-handler", "set-other"),
    ("disable", "is-enabled"),
    ("add-path", "has-path"),
)
PAIRS = sorted({tuple(sorted((one, other))) for group in GROUPS for one in group for other in group})


@pytest.mark.share(4)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_calls_come_to_what_their_orders_come_to(
    one: str, other: str, check: Callable[..., Any], orders: Callable[..., frozenset[Any]]
) -> None:
    first, second = CALLS[one], CALLS[other]
    expected = orders(first, second)
    found, result = check(first, second)
    assert result.verdict is Verdict.VERIFIED
    assert found == expected
