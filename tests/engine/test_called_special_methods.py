"""Methods with special names that a program calls itself do what the syntax for them does, of whatever object.

Bound or taken from a class, kept or called at once: `s.__setattr__('x', 1)` is a store to the attribute,
`s.__dir__()` looks at all attributes, and `it.__length_hint__()` at what is left.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, Verdict

HEADER = """
import collections, copy, functools, gc, io, operator, types, typing

def add(*given, **named):
    return given, tuple(named.items())

class K:
    x = 0

class Items(list):
    def __init__(self, *given):
        list.__init__(self, *given)
        self.x = 0

class Module(types.ModuleType):
    pass

class Sub(functools.partial):
    pass

class Static(staticmethod):
    pass

class Slots:
    __slots__ = ("x",)
    def __init__(self):
        self.x = 0

class Computed:
    @functools.cached_property
    def p(self):
        return 1

def f():
    return 1
f.x = 0

def module():
    made = types.ModuleType("made")
    made.x = 0
    return made

def having(s, x=0):
    s.x = x
    return s

def shown(text):
    return text.split(" at ")[0].split(" from ")[0]

get = object.__getattribute__
put = object.__setattr__
"""
WITH_ATTRIBUTE = {
    "instance": "K()",
    "list": "Items()",
    "function": "f",
    "module": "module()",
    "subclass of a module": "having(Module('made'))",
    "stream": "having(io.StringIO())",
    "dict in order": "having(collections.OrderedDict())",
    "counter": "having(collections.Counter())",
    "slot": "Slots()",
}
STORES = (
    "s.__setattr__('x', 1)",
    "put(s, 'x', 1)",
    "(lambda store: store('x', 1))(s.__setattr__)",
    "setattr(s, 'x', 1)",
)
LOADS = ("s.__getattribute__('x')", "get(s, 'x')", "(lambda load: load('x'))(s.__getattribute__)", "s.x")
NEW = ("setattr(s, 'added', 1)", "s.__setattr__('added', 1)")
NAMES = (
    "'added' in s.__dir__()",
    "'added' in (lambda names: names())(s.__dir__)",
    "'added' in object.__dir__(s)",
)
TEXTS = (
    "shown(repr(s))",
    "shown(str(s))",
    "shown(f'{s}')",
    "shown(s.__repr__())",
    "shown(object.__repr__(s))",
    "shown(s.__str__())",
    "shown(object.__format__(s, ''))",
)


def require_all(pair: EitherOrder, made: str, writes: tuple[str, ...], reads: tuple[str, ...]) -> None:
    for write in writes:
        for read in reads:
            pair.require_both(made, write, read)


@pytest.fixture
def pair(tmp_path: Path) -> EitherOrder:
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("kind", WITH_ATTRIBUTE)
def test_calls_for_an_attribute_are_loads_and_stores(pair: EitherOrder, kind: str) -> None:
    require_all(pair, WITH_ATTRIBUTE[kind], STORES, LOADS)


def test_so_are_those_that_a_class_has_for_itself(pair: EitherOrder) -> None:
    stores = (
        "type.__setattr__(s, 'x', 1)",
        "(lambda store: store(s, 'x', 1))(type.__setattr__)",
        "setattr(s, 'x', 1)",
    )
    loads = ("type.__getattribute__(s, 'x')", "(lambda load: load(s, 'x'))(type.__getattribute__)", "s().x")
    require_all(pair, "K", stores, loads)


@pytest.mark.parametrize(
    "kind", [kind for kind in WITH_ATTRIBUTE if kind not in ("module", "subclass of a module", "slot")]
)
def test_the_names_of_attributes_show_one_that_is_new(pair: EitherOrder, kind: str) -> None:
    require_all(pair, WITH_ATTRIBUTE[kind], NEW, NAMES)


def test_the_names_that_a_class_tells_show_one_that_is_new(pair: EitherOrder) -> None:
    require_all(pair, "K", NEW[:1], ("'added' in type.__dir__(s)", "'added' in dir(s())"))


@pytest.mark.parametrize("made", ["f", "K"])
def test_what_gives_the_state_reads_the_attributes(pair: EitherOrder, made: str) -> None:
    require_all(pair, made, NEW[:1], ("(object.__getstate__(s) or {}).get('added')",))


def test_the_text_of_a_module_shows_its_name(pair: EitherOrder) -> None:
    require_all(pair, "module()", ("setattr(s, '__name__', 'other')",), (*TEXTS[:4], "shown([s].__repr__())"))


def test_the_text_of_an_object_shows_the_name_of_its_class(pair: EitherOrder) -> None:
    require_all(pair, "K()", ("setattr(K, '__qualname__', 'Other')", "setattr(K, '__module__', 'm')"), TEXTS)


@pytest.mark.parametrize("made", ["K", "f"])
def test_annotations_that_there_were_none_of_are_those_of_all(pair: EitherOrder, made: str) -> None:
    stores = ("s.__annotations__.__setitem__('a', int)", "s.__annotations__.update(a=int)")
    require_all(pair, made, stores, ("list(s.__annotations__)", "'a' in getattr(s, '__annotations__')"))


def test_annotations_that_a_class_makes_when_asked_do_not_outlive_an_execution(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import dpor

class K:
    pass

@dpor.model
def model():
    assert "__annotations__" not in vars(K), "it has outlived an execution"
    found = []
    def one():
        K.__annotations__["a"] = int
    def other():
        found.append(len(K.__annotations__))
    threads = [dpor.spawn(one), dpor.spawn(other)]
    for thread in threads:
        thread.join()
    assert found in ([0], [1])
""")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result
    assert result.executions == 2
    assert {(one.kind, one.subject) for one in result.assumptions} == {
        (AssumptionKind.UNSEEN_CODE, "builtins.type.__annotations__")
    }


def test_annotations_of_a_function_are_put_back(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import dpor

def function(x: int):
    pass

@dpor.model
def model():
    assert function.__annotations__ == {"x": int}
    def one():
        function.__annotations__ = {"y": str}
    dpor.spawn(one)
    dpor.join_all()
    dpor.choose(range(2))
""")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result
    assert result.executions == 2


PARTIAL_CHANGES = ("s.keywords.update(z=5)", "s.__setstate__((add, (9,), {}, {}))")


def test_a_partial_of_a_partial_takes_over_what_that_one_holds(pair: EitherOrder) -> None:
    reads = ("functools.partial(s)()", "functools.partial(s).keywords", "Sub(s)()", "Sub(s, 2)()", "s()")
    require_all(pair, "functools.partial(add, 1, k=1)", PARTIAL_CHANGES, reads)


def test_a_partial_of_a_class_of_its_own_reads_what_it_holds(pair: EitherOrder) -> None:
    reads = ("s()", "(lambda call: call(2))(s)", "functools.partial(s)()")
    require_all(pair, "Sub(add, 1, k=1)", PARTIAL_CHANGES, reads)


def test_a_cached_property_calls_the_function_that_it_has_then(pair: EitherOrder) -> None:
    require_all(pair, "Computed()", ("setattr(Computed.p, 'func', lambda s: 2)",), ("s.p", "getattr(s, 'p')"))


def test_who_calls_a_class_by_an_alias_reads_what_is_given(pair: EitherOrder) -> None:
    aliases = (
        "list[int](s)",
        "set[int](s)",
        "tuple[int](s)",
        "collections.deque[int](s)",
        "typing.Deque[int](s)",
    )
    require_all(pair, "[1]", ("s.append(2)",), aliases)


def test_a_static_method_that_is_called_does_what_its_function_does(pair: EitherOrder) -> None:
    require_all(pair, "[1]", ("s.append(2)",), ("Static(len)(s)", "staticmethod(len)(s)"))


def test_referents_are_what_an_object_holds(pair: EitherOrder) -> None:
    require_all(pair, "Slots()", ("setattr(s, 'x', 1)",), ("gc.get_referents(s)[0]",))


OVER = {
    "list": ("iter", "[1, 2]"),
    "list from its end": ("reversed", "[1, 2]"),
    "subclass of list": ("iter", "Items([1, 2])"),
    "dict": ("iter", "{1: 1}"),
    "values": ("lambda u: iter(u.values())", "{1: 1}"),
    "items": ("lambda u: iter(u.items())", "{1: 1}"),
    "set": ("iter", "{1, 2}"),
    "bytearray": ("iter", "bytearray(b'ab')"),
}
HINTS = (
    "s[1].__length_hint__()",
    "(lambda left: left())(s[1].__length_hint__)",
    "type(s[1]).__length_hint__(s[1])",
    "s[1].__length_hint__.__call__()",
    "operator.methodcaller('__length_hint__')(s[1])",
    "repr(s[1].__reduce__()[1])",
    "list(copy.copy(s[1]))",
)


@pytest.mark.parametrize("kind", OVER)
def test_what_tells_how_much_an_iterator_has_left_looks_at_what_it_runs_over(
    pair: EitherOrder, kind: str
) -> None:
    make, base = OVER[kind]
    require_all(pair, f"(lambda u: (u, ({make})(u)))({base})", ("s[0].clear()",), HINTS)


@pytest.mark.parametrize("show", ["dict.keys", "dict.items", "dict.values", "types.MappingProxyType"])
def test_methods_of_a_view_taken_from_its_class_read_what_it_shows(pair: EitherOrder, show: str) -> None:
    reads = (
        "type(s[1]).__len__(s[1])",
        "list(type(s[1]).__iter__(s[1]))",
        "(lambda size: size())(s[1].__len__)",
    )
    require_all(pair, f"(lambda u: (u, {show}(u)))({{1: 1}})", ("s[0].clear()",), reads)


def test_an_index_of_a_class_of_the_model_runs_its_code(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import dpor

class Index:
    def __init__(self, found):
        self.found = found
    def note(self):
        self.found.append(1)
        return 0
    def __index__(self):
        return self.note()

@dpor.model
def model():
    found = []
    items = [1, 2]
    def one():
        assert items[Index(found)] == 1
        items[Index(found)] = 3
        del items[Index(found)]
    dpor.spawn(one)
    seen = len(found)
    dpor.join_all()
    assert seen != 2 and items == [2]
""")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED
    assert "assertion failed" in str(result)


CELL = """
def cell():
    held = 0
    def put():
        nonlocal held
        held = 1
    return put.__closure__[0]
"""
ASSUMED = {
    "__init__ of a module": ("module()", "s.__init__('other')", "s.__name__", "builtins.module"),
    "text of a cell": ("cell()", "1", "repr(s)", "builtins.cell"),
    "referents of a cell": ("cell()", "1", "gc.get_referents(s)", "builtins.cell"),
    "__dict__ of a staticmethod": (
        "staticmethod(f)",
        "s.__dict__.update(x=1)",
        "hasattr(s, 'x')",
        "builtins.staticmethod.__dict__",
    ),
}


@pytest.mark.parametrize("name", ASSUMED)
def test_what_is_not_followed_is_an_assumption(tmp_path: Path, name: str) -> None:
    made, first, second, subject = ASSUMED[name]
    result = EitherOrder(HEADER + CELL, tmp_path).check(made, first, second)
    assert {(one.kind, one.subject) for one in result.assumptions} >= {(AssumptionKind.UNSEEN_CODE, subject)}
