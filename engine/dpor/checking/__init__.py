"""Checks of one model in this process: exploring it, telling what breaks it, following a schedule."""

from dpor.checking.check import check_model

__all__ = ["check_model"]
