"""The trace view: a recorded trace as one HTML page that needs nothing else."""

from dpor_lsp.trace_view.rendering import render

__all__ = ["render"]
