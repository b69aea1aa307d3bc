"""What an event loop decides, for a report."""

from __future__ import annotations


class Decision(int):
    """Which alternative an event loop has decided for, counted from 0; `text` says what that is: "cancels Task-2"."""

    text: str

    @classmethod
    def of(cls, alternative: int, text: str) -> Decision:
        """A decision with its words."""
        made = cls(alternative)
        made.text = text
        return made
