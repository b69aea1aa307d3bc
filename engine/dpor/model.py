"""The decorator that marks a function as a model."""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: importing it would be most of the time that `import dpor` takes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    from dpor.errors import DporError
    from dpor.options import ModelOptions

    Function = TypeVar("Function", bound=Callable[..., Any])

    # What type checkers see of the function below.
    @overload
    def model(function: Function, /) -> Function: ...

    @overload
    def model(**options: Any) -> Callable[[Function], Function]: ...


ATTRIBUTE = "__dpor_model__"


def model(function: Any = None, /, **options: Any) -> Any:
    """Mark a module-level function, or a method of a class without constructor arguments, as a model.

    As `@dpor.model`, or as `@dpor.model(**options)` with the options of `dpor.options.ModelOptions`. The function
    stays an ordinary function: calling it runs it under real threads.
    Raises DporError: BAD_OPTION for an option or a value that does not exist, UNSUPPORTED_CONSTRUCT if what is marked
    is no function.
    """
    from dpor.errors import DporError
    from dpor.options import check_options
    from dpor.runtime.current import current_host

    checked: ModelOptions | DporError
    try:
        checked = check_options(options)
    except DporError as error:
        if current_host() is None:
            raise
        # Said when this model is checked: the other models of the file are none the worse.
        checked = error
    if function is not None:
        return _mark(function, checked)

    def decorate(marked: Any) -> Any:
        return _mark(marked, checked)

    return decorate


def options_of(function: Any) -> ModelOptions | DporError | None:
    """The options that a function was marked with (an error if a check found them wrong), or None if it is no model."""
    return getattr(function, ATTRIBUTE, None)


def _mark(function: Any, options: ModelOptions | DporError) -> Any:
    code = getattr(function, "__code__", None)
    if code is None:
        from dpor.codes import Code
        from dpor.errors import DporError

        raise DporError(
            Code.UNSUPPORTED_CONSTRUCT,
            f"@dpor.model marks functions, not {type(function).__name__} objects",
            "put @dpor.model next to the def, below other decorators",
        )
    setattr(function, ATTRIBUTE, options)
    return function
