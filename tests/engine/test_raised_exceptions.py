"""An exception that threads share is changed by each that raises it: what Python stores in it is seen, or named."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

HEADER = """
import concurrent.futures, traceback

LASTING = ValueError("lasting")

def caught(error):
    try:
        raise error
    except ValueError:
        pass

def caught_beside(error):
    try:
        raise KeyError("other")
    except KeyError:
        caught(error)

def caught_with_cause(error, cause):
    try:
        raise error from cause
    except ValueError:
        pass

def handling():
    try:
        raise KeyError("other")
    except KeyError:
        yield

def thrown(error):
    generator = handling()
    next(generator)
    try:
        generator.throw(error)
    except ValueError:
        pass
"""
# What one thread does to the exception `s`, and where the other looks.
CHANGES = {
    "the context": ("ValueError()", "caught_beside(s)", "repr(s.__context__)"),
    "a context that code in C sets": ("ValueError()", "thrown(s)", "repr(s.__context__)"),
    "the context by its name": ("ValueError()", "caught_beside(s)", "getattr(s, '__context__') is None"),
    "the cause": ("ValueError()", "caught_with_cause(s, KeyError())", "repr(s.__cause__)"),
    "a cause of its class": ("ValueError()", "caught_with_cause(s, KeyError)", "repr(s.__cause__)"),
    "no cause": ("ValueError()", "caught_with_cause(s, None)", "s.__suppress_context__"),
    "whether it has a traceback": ("ValueError()", "caught(s)", "s.__traceback__ is None"),
}


@pytest.fixture
def either(tmp_path: Path) -> EitherOrder:
    return EitherOrder(HEADER, tmp_path)


def checked(folder: Path, text: str) -> ModelResult:
    path = folder / "model.py"
    path.write_text(HEADER + "import dpor\n" + text)
    return check_model(CheckRequest(str(path), "model", str(folder)))


@pytest.mark.parametrize("name", CHANGES)
def test_another_thread_sees_what_raising_stores(either: EitherOrder, name: str) -> None:
    either.require_both(*CHANGES[name])


def test_reading_the_traceback_of_an_exception_of_another_thread_is_an_assumption(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
@dpor.model
def model():
    kept = []
    def fails():
        try:
            try:
                {}["missing"]
            except KeyError as error:
                kept.append(error)
                raise
        except KeyError:
            pass
    def looks():
        if kept:
            kept[0].__traceback__
    threads = [dpor.spawn(fails), dpor.spawn(looks)]
    for thread in threads:
        thread.join()
""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert {one.kind for one in result.assumptions} == {AssumptionKind.EXCEPTION_STATE}


def test_a_thread_may_look_at_the_exception_that_it_handles(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
def fails():
    try:
        raise ValueError("own") from KeyError("cause")
    except ValueError as error:
        traceback.format_exception(error)
        assert error.__traceback__.tb_frame.f_code.co_name == "fails"
        assert isinstance(error.__cause__, KeyError)

@dpor.model
def model():
    threads = [dpor.spawn(fails), dpor.spawn(fails)]
    for thread in threads:
        thread.join()
""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert result.assumptions == ()
    assert result.executions == 1


def test_an_exception_of_a_module_is_as_new_in_each_execution(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
@dpor.model
def model():
    assert LASTING.__traceback__ is None and LASTING.__context__ is None and not LASTING.__suppress_context__
    flags = []
    threads = [dpor.spawn(flags.append, number) for number in range(2)]
    for thread in threads:
        thread.join()
    caught_beside(LASTING)
    caught_with_cause(LASTING, None)
""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 2


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        ("1", "exceptions must derive from BaseException"),
        ("1 from None", "exceptions must derive from BaseException"),
        ("ValueError from 1", "exception causes must derive from BaseException"),
    ],
)
def test_what_is_no_exception_cannot_be_raised(tmp_path: Path, raised: str, text: str) -> None:
    result = checked(
        tmp_path,
        f"""
@dpor.model
def model():
    try:
        raise {raised}
    except TypeError as error:
        assert str(error) == {text!r}
    else:
        raise AssertionError
""",
    )
    assert result.verdict is Verdict.VERIFIED


def test_the_order_of_raises_matters_to_who_looks_after_them(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
def fails(other):
    try:
        try:
            raise other
        except (KeyError, OSError):
            raise LASTING
    except ValueError:
        pass

@dpor.model
def model():
    threads = [dpor.spawn(fails, KeyError()), dpor.spawn(fails, OSError())]
    for thread in threads:
        thread.join()
    assert isinstance(LASTING.__context__, OSError)
""",
    )
    assert result.verdict is Verdict.VIOLATED
    assert result.assumptions == ()


def test_raising_is_no_operation_if_nobody_looks(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
@dpor.model
def model():
    threads = [dpor.spawn(caught_beside, LASTING) for _ in range(3)]
    for thread in threads:
        thread.join()
""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 1


def test_a_predicate_may_raise_its_own_exceptions(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
@dpor.model
def model():
    flags = []

    def ready():
        try:
            error = ValueError("own")
            raise error
        except ValueError as error:
            assert error.__traceback__ is not None
        try:
            flags[0]
        except IndexError:
            try:
                raise
            except IndexError:
                return False
        return True

    thread = dpor.spawn(flags.append, 1)
    dpor.wait_until(ready)
    thread.join()
""",
    )
    assert result.verdict is Verdict.VERIFIED


def test_a_raise_with_a_cause_is_one_step(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import dpor

@dpor.model
def model():
    error = ValueError()
    found = []
    def change():
        error.__cause__ = KeyError(4)
        found.append(error.__traceback__)
    thread = dpor.spawn(change)
    try:
        raise error from KeyError(3)
    except ValueError:
        pass
    thread.join()
    assert repr(error.__cause__) != "KeyError(4)" or found[0] is not None
""")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result


def test_a_raise_with_a_cause_calls_no_code_of_the_class(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import dataclasses, dpor

@dataclasses.dataclass(frozen=True)
class Failed(Exception):
    code: int

@dpor.model
def model():
    try:
        raise Failed(1) from KeyError("a")
    except Failed as error:
        assert isinstance(error.__cause__, KeyError)
""")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result
