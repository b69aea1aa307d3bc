"""Starts the debug adapter for the test client, which can only start a script."""

import sys

from dpor_lsp.cli.command_line import main

sys.exit(main(["--debug-adapter"]))
