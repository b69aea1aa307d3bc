"""What reports say of an exception, whatever code its class has for that."""

from __future__ import annotations

from dpor.counterexample.values import class_name, describe


def text_of(error: BaseException) -> str:
    """The text of an exception: what `str` gives, or its arguments where that fails.

    Making the text runs code of the exception's class, which may raise anything (`KeyboardInterrupt` too) or return
    what is no text. None of that may cost the report.
    """
    try:
        return str.__str__(str(error))
    except BaseException:
        arguments: tuple[object, ...] = BaseException.__dict__["args"].__get__(error)
        shown = ", ".join(describe(one, class_name) for one in arguments[:_MOST_ARGUMENTS])
        return f"({shown}), whose text cannot be made" if shown else "its text cannot be made"


def titled(error: BaseException, known: str | None = None) -> str:
    """The class of an exception and its text, as the last line of a traceback has them; the text may be `known`."""
    text = text_of(error) if known is None else known
    return f"{class_name(error)}: {text}" if text else class_name(error)


_MOST_ARGUMENTS = 3
