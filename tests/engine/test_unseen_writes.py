"""What changes an object by a way that is no store to it is seen by other threads: the class of its class, a
descriptor, a coroutine that two threads advance, a buffer that is filled.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, Verdict

HEADER = """
import enum, functools, io, operator, re, tempfile, threading, types

class Meta(type):
    limit = 1

class Own(metaclass=Meta):
    pass

class Given:
    def __init__(self, value):
        self.value = value

    def __get__(self, obj, owner=None):
        return self.value

class Settings:
    host = Given(1)

    def scaled(self, factor, number):
        return factor * number

    doubled = functools.partialmethod(scaled, 2)

class Slotted:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 0

class Around:
    # A descriptor in Python around the one of a slot.

    def __init__(self, member):
        self.member = member

    def __get__(self, obj, owner=None):
        return self.member.__get__(obj, owner)

    def __set__(self, obj, value):
        self.member.__set__(obj, value)

class Wrapped:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 0

Wrapped.a = Around(Wrapped.a)

class Local(threading.local):
    limit = 1

    def __init__(self):
        self.own = 0

def closure():
    count = 0

    def counted():
        nonlocal count
        count += 1
        return count

    return counted, counted.__closure__[0]

def decorated():
    pass

class Level(enum.Enum):
    LOW = [1]
    HIGH = [2]

class Flags(enum.Flag):
    A = 1
    B = 2

class Prepared(type):
    namespace = {}

    @classmethod
    def __prepare__(cls, name, bases):
        return cls.namespace

class PreparedPlainly(type):
    def __prepare__(name, bases, namespace={}):
        return namespace

class Maker:
    def __init__(self, namespace):
        self.__prepare__ = lambda name, bases: namespace

    def __call__(self, name, bases, namespace):
        return type(name, bases, dict(namespace))

made_by = Maker({})

def prepared(name, metaclass=Prepared):
    class Made(metaclass=metaclass):
        kept = name

    return sorted(key for key in vars(Made) if not key.startswith("_"))

def prepared_by_keywords(name, keywords):
    class Made(**keywords):
        kept = name

    return sorted(key for key in vars(Made) if not key.startswith("_"))

def constant():
    value = 1
    def give():
        return value
    return give, give.__closure__[0]

def same_pattern():
    return re.compile("a+b") is re.compile("a+b")

def many_patterns():
    for number in range(520):
        re.compile(str(number))

def level_of(value):
    try:
        return Level(value).name
    except ValueError:
        return None

def counted():
    n = 0
    def add():
        nonlocal n
        n += 1
    return add, add.__closure__[0]

def keyword_defaults(defaults):
    def keyed(*, k=0):
        return k
    keyed.__kwdefaults__ = defaults
    return keyed, defaults

def stepping():
    yield
    yield

def frame_of(generator):
    return generator.gi_frame

async def count(items):
    items.append(1)
    return len(items)

def advanced(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    except ValueError as error:
        return str(error)

def temporary():
    file = tempfile.TemporaryFile()
    file.write(b"abc")
    file.seek(0)
    return file

def written(lines):
    stream = io.BytesIO()
    stream.writelines(lines)
    return stream.getvalue()
"""
# What is made, what one thread does and where the other looks.
WAYS = {
    "an attribute of a metaclass": ("Own", "setattr(Meta, 'limit', 2)", "s.limit"),
    "a descriptor in Python": ("Settings()", "setattr(Settings, 'host', Given(2))", "s.host"),
    "a partial method": (
        "Settings()",
        "setattr(Settings, 'doubled', functools.partialmethod(Settings.scaled, 3))",
        "s.doubled(2)",
    ),
    "a slot by its descriptor": ("Slotted()", "Slotted.a.__set__(s, 1)", "s.a"),
    "a slot behind a descriptor in Python": ("Wrapped()", "setattr(s, 'a', 1)", "s.a"),
    "a class's attribute of thread-local data": ("Local()", "setattr(Local, 'limit', 2)", "s.limit"),
    "a variable by its cell": ("closure()", "s[0]()", "s[1].cell_contents"),
    "a store to a variable by its cell": ("closure()", "setattr(s[1], 'cell_contents', 5)", "s[0]()"),
    "a look by a slot's descriptor": ("Slotted()", "setattr(s, 'a', 1)", "Slotted.a.__get__(s)"),
    "attributes by the dict's descriptor": (
        "Settings()",
        "setattr(s, 'n', 1)",
        "'n' in Settings.__dict__['__dict__'].__get__(s)",
    ),
    "a coroutine": ("count([])", "advanced(s)", "advanced(s)"),
    "exceptions of a group": (
        "[ValueError()]",
        "s.append(KeyError())",
        "len(ExceptionGroup('g', s).exceptions)",
    ),
    "a buffer that a stream fills": (
        "(io.BytesIO(b'abc'), bytearray(2))",
        "s[0].readinto(s[1])",
        "bytes(s[1])",
    ),
    "a buffer that a file fills": ("(temporary(), bytearray(2))", "s[0].readinto(s[1])", "bytes(s[1])"),
    "buffers in a list": ("[bytearray(b'a')]", "s[0].upper() and s[0].extend(b'b')", "written(s)"),
    "the dict of a function": ("decorated", "s.__dict__.update({'k': 1})", "hasattr(s, 'k')"),
    "the text of a generic alias": ("[int]", "s.append(str)", "repr(list[s])"),
    "the text of a class method": (
        "[]",
        "s.append(1)",
        "repr(classmethod(functools.partial(print, s)))",
    ),
    "what a set holds that another set is asked for": (
        "{0}",
        "s.add(1)",
        "s in {frozenset([0])}",
    ),
    "what a set holds that is taken from another": (
        "({0}, {frozenset([0])})",
        "s[0].add(1)",
        "s[1].discard(s[0]) or len(s[1])",
    ),
    "a comparison of generic aliases": ("[int]", "s.append(str)", "list[s] == list[[int]]"),
    "the text of a getter": ("[1]", "s.append(2)", "repr(operator.itemgetter(s))"),
}


@pytest.fixture
def either(tmp_path: Path) -> EitherOrder:
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("name", WAYS)
def test_another_thread_can_look_before_and_after(either: EitherOrder, name: str) -> None:
    either.require_both(*WAYS[name])


def test_a_coroutine_can_be_found_running(either: EitherOrder) -> None:
    running = repr(["coroutine already executing", 1])
    assert either.check("count([])", "advanced(s)", "advanced(s)", running).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", ["__closure__", "__kwdefaults__"])
def test_what_a_function_is_made_of_is_refused_beside_other_threads(either: EitherOrder, name: str) -> None:
    with pytest.raises(DporError) as raised:
        either.check("decorated", "None", f"s.{name}")
    assert raised.value.code is Code.UNCONTROLLED


def test_code_of_the_model_with_other_variables_is_refused(either: EitherOrder) -> None:
    with pytest.raises(DporError) as raised:
        either.check("types.FunctionType(decorated.__code__, {})", "None", "None")
    assert raised.value.code is Code.UNCONTROLLED
    assert "the variables of another dict" in str(raised.value)


ASSUMED = {
    "subclasses": ("Own", "type('Sub', (Own,), {}) and None", "len(s.__subclasses__())"),
    "subclasses by the class of classes": (
        "Own",
        "type('Sub', (Own,), {}) and None",
        "len(type.__subclasses__(s))",
    ),
    "keyword defaults that somebody else has": (
        "keyword_defaults({'k': 1})",
        "s[1].update(k=2)",
        "s[0]()",
    ),
    "private attributes of an enumeration": ("Level", "None", "list(s._member_map_) and None"),
    "a member by a value that changes": ("Level", "s.LOW.value.append(2)", "level_of([1])"),
    "all that a module holds": ("types.ModuleType('made')", "setattr(s, 'x', 1)", "'x' in vars(s)"),
    "the names in a module": ("types.ModuleType('made')", "setattr(s, 'x', 1)", "'x' in dir(s)"),
    "the namespace of a class to be": ("None", "prepared('a')", "prepared('b')"),
    "the namespace that a plain function prepares": (
        "PreparedPlainly",
        "prepared('a', s)",
        "prepared('b', s)",
    ),
    "the namespace that an instance prepares": ("made_by", "prepared('a', s)", "prepared('b', s)"),
    "the namespace that keywords prepare": (
        "{'metaclass': made_by}",
        "prepared_by_keywords('a', s)",
        "prepared_by_keywords('b', s)",
    ),
    "a variable of a function that only its cell changes": (
        "constant()",
        "setattr(s[1], 'cell_contents', 5)",
        "s[0]()",
    ),
    "the identity of a pattern": ("None", "same_pattern()", "many_patterns()"),
    "a variable of a function by comparing cells": ("counted()", "s[0]()", "s[1] == types.CellType(0)"),
    "the frame of a generator": ("stepping()", "next(s)", "frame_of(s).f_lineno and None"),
}


@pytest.mark.parametrize("name", ASSUMED)
def test_what_is_not_followed_is_an_assumption(either: EitherOrder, name: str) -> None:
    result = either.check(*ASSUMED[name])
    assert result.verdict is Verdict.VERIFIED
    assert {one.kind for one in result.assumptions} == {AssumptionKind.UNSEEN_CODE}


@pytest.mark.parametrize("made", ["Event", "Semaphore", "BoundedSemaphore", "Condition"])
@pytest.mark.parametrize("use", ["hasattr(s, 'mine')", "getattr(s, 'mine', 0)"])
def test_an_attribute_that_a_primitive_is_given_is_a_place(either: EitherOrder, made: str, use: str) -> None:
    asked = (f"threading.{made}()", "setattr(s, 'mine', 1)", use)
    for unwanted in either.values(*asked):
        result = either.check(*asked, unwanted)
        assert result.verdict is Verdict.VIOLATED
        assert not result.assumptions


@pytest.mark.parametrize(
    ("made", "method"), [("Event", "is_set"), ("Condition", "notify"), ("Semaphore", "release")]
)
def test_a_method_of_a_primitive_that_an_attribute_hides_is_a_place(
    either: EitherOrder, made: str, method: str
) -> None:
    asked = (f"threading.{made}()", f"setattr(s, '{method}', len)", f"s.{method} is len")
    for unwanted in either.values(*asked):
        result = either.check(*asked, unwanted)
        assert result.verdict is Verdict.VIOLATED
        assert not result.assumptions


def test_a_flag_that_enum_makes_later_has_attributes_like_others(either: EitherOrder) -> None:
    result = either.check("Flags", "setattr(s.A | s.B, 'note', 1)", "hasattr(s(3), 'note')")
    assert not result.assumptions


def test_a_look_at_the_complement_that_a_flag_knows_is_an_assumption(either: EitherOrder) -> None:
    result = either.check("Flags", "~s.A and None", "s.A._inverted_ and None")
    assert "enum" in {one.subject for one in result.assumptions}


def test_a_thread_that_starts_while_the_library_reads_unseen_is_an_assumption(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import inspect
import dpor

class Holder:
    first = second = 1

@dpor.model
def model():
    def write():
        Holder.second = 2
    started = []
    def asks(value):
        if not started:
            started.append(dpor.spawn(write))
        return True
    inspect.getmembers(Holder, asks)
    started[0].join()
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert "inspect" in {one.subject for one in result.assumptions}


def test_members_of_an_enumeration_that_is_made_in_the_model_have_attributes(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import enum
import dpor

@dpor.model
def model():
    class Planet(enum.Enum):
        EARTH = (1, "earth")

        def __new__(cls, number, label):
            made = object.__new__(cls)
            made._value_ = number
            made.label = label
            return made

        def __init__(self, number, label):
            self.doubled = 2 * number

    threads = [dpor.spawn(setattr, Planet.EARTH, "seen", number) for number in range(2)]
    for thread in threads:
        thread.join()
    assert (Planet.EARTH.label, Planet.EARTH.doubled) == ("earth", 2)
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 2


def test_classes_of_another_execution_are_no_subclasses(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import dpor

class Base:
    pass

@dpor.model
def model():
    found = []
    threads = [dpor.spawn(found.append, number) for number in range(3)]
    for thread in threads:
        thread.join()
    if found[0] == 2:
        assert Base.__subclasses__() == []
    class Sub(Base):
        pass
    assert Base.__subclasses__() == [Sub]
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 6
    assert result.assumptions == ()


@pytest.mark.parametrize(
    "kept", ["made = type('Made', (Base,), {})", "KEPT.append(type('Made', (Base,), {}))"]
)
def test_classes_that_another_execution_has_made_by_a_call_are_no_subclasses(
    kept: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.py"
    path.write_text(f"""
import dpor

KEPT = []

class Base:
    pass

@dpor.model
def model():
    {kept}
    assert len(Base.__subclasses__()) == 1
    assert dpor.choose([1, 2, 3]) < 3
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path), all_violations=True))
    assert result.verdict is Verdict.VIOLATED
    assert [one.message for one in result.violations] == ["assertion failed: dpor.choose([1, 2, 3]) < 3"]


def test_the_order_of_classes_that_ended_threads_have_made_is_an_assumption(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import dpor

class Base:
    pass

class Known(Base):
    pass

def make(kept, name):
    kept[name] = type(name, (Base,), {})

@dpor.model
def model():
    kept = {}
    threads = [dpor.spawn(make, kept, name) for name in ("First", "Second")]
    for thread in threads:
        thread.join()
    assert [one.__name__ for one in Base.__subclasses__()] == ["Known", "First", "Second"]
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert [one.subject for one in result.assumptions] == ["builtins.type.__subclasses__"]


@pytest.mark.parametrize("seen", [True, False])
def test_a_function_of_the_library_sees_the_text_about_a_function_before_and_after(
    seen: bool, tmp_path: Path
) -> None:
    path = tmp_path / "model.py"
    path.write_text(f"""
import inspect
import dpor

@dpor.model
def model():
    def told():
        pass
    seen = []
    threads = [
        dpor.spawn(lambda: setattr(told, "__doc__", "text")),
        dpor.spawn(lambda: seen.append(inspect.getdoc(told) == "text")),
    ]
    for thread in threads:
        thread.join()
    assert seen == [{seen}]
""")
    assert check_model(CheckRequest(str(path), "model", str(tmp_path))).verdict is Verdict.VIOLATED
