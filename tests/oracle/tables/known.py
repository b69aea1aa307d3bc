"""Operations that the test leaves out, each with the reason: no entry without one. The command runs them all."""

from __future__ import annotations

LEFT_OUT: dict[tuple[str, str], str] = {}
"""By kind and text of the operation."""
