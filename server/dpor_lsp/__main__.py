"""`python -m dpor_lsp`: the same as the console script `dpor-lsp`."""

from __future__ import annotations

import sys

from dpor_lsp.cli.command_line import main

if __name__ == "__main__":
    sys.exit(main())
