"""Test methods in plain CPython. Nothing of the checker is imported here."""

from __future__ import annotations

import importlib
import sys
import unittest
from collections.abc import Sequence

from fidelity import outcome, serving
from fidelity.modules import folder_of_tests, module_name


def serve(name: str, only: Sequence[str], patience: float, every: int) -> None:
    """Run the methods of the test module `name`, those of them that are in `only`, or one in `every`."""
    folder = folder_of_tests()
    assert folder is not None
    try:
        from test import support

        # As `checked._without_resources` does.
        support.use_resources = ()
        module = importlib.import_module(module_name(name))
        found = outcome.methods(module)
    except unittest.SkipTest as skip:
        serving.fail(f"skipped: {skip}")
        return
    except BaseException as error:
        serving.fail(f"{type(error).__name__}: {error}")
        return

    def run(method: str) -> serving.Answer:
        return {"executions": [outcome.run(*found[method]).happenings]}

    sys.argv[:] = ["test"]
    serving.serve([one for one in (only or found) if one in found][::every], run, patience)
