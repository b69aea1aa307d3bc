"""The debug adapter: time travel over a recorded trace, for any editor that speaks the Debug Adapter Protocol."""

from dpor_lsp.debug_adapter.serving import serve

__all__ = ["serve"]
