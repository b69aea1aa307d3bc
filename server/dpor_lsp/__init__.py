"""The `dpor-lsp` command: checks models in worker processes, keeps their results, reports in many formats."""

from __future__ import annotations

DISTRIBUTION = "dpor-lsp"


def version() -> str:
    """Return the version of the installed distribution (`0+unknown` in a checkout that is not installed)."""
    # Imported here because it costs more than everything else that a cached check does.
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+unknown"
