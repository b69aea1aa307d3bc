"""Runs the copy of `dpor-lsp` that is inside the extension.

Beside this file, `checker/` holds what worker processes need too and is on PYTHONPATH; `server/` holds what only this
process needs. It is put last, so that it never stands in for a package of the user's environment.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "server"))

from dpor_lsp.cli.command_line import main

sys.exit(main())
