"""Many kinds of state that modules of the user's and instrumented packages keep: each execution finds it as it was
when they had been imported, whether it is put back or the modules are loaded afresh.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

STATE = (Path(__file__).parent / "data" / "module_state.py").read_text(encoding="utf-8")
CHANGE = """
def change():
    {body}
"""
MODEL = """
import dpor
from kept_state import change

@dpor.model{options}
def model():
    dpor.choose(range(3))
    change()
"""
# Every other execution is given up, and changes everything on its way out.
GIVEN_UP = """
import dpor
from kept_state import change

@dpor.model{options}
def model():
    number = dpor.choose(range(4))
    try:
        dpor.assume(number % 2 == 1)
        change()
    finally:
        if number % 2 == 0:
            change()
"""
# What each execution does, and what it must find.
PUT_BACK = {
    "cell": "assert INC() == 1",
    "cell deleted": "assert DEL()",
    "slot": "assert SLOTTED.a == 1\n    SLOTTED.a = 2",
    "slot new": "assert not hasattr(SLOTTED, 'b')\n    SLOTTED.b = 2",
    "slot del": "del SLOTTED.a\n    assert not hasattr(SLOTTED, 'a')",
    "slot list": "SLOTTED.items.append(1)\n    assert len(SLOTTED.items) == 1",
    "slot holds": "SLOTHOLD.b.x += 1\n    assert SLOTHOLD.b.x == 2",
    "annotations of a function": "assert annotated.__annotations__ == {'x': int}\n    annotated.__annotations__ = {}",
    "annotations of a function in place": (
        "assert annotated.__annotations__ == {'x': int}\n    annotated.__annotations__['y'] = int"
    ),
    "attr": "PLAIN.x += 1\n    assert PLAIN.x == 2",
    "attr new": "assert not hasattr(PLAIN, 'new')\n    PLAIN.new = 1",
    "attr del order": (
        "assert list(vars(PLAIN)) == ['x', 'y', 'log'], list(vars(PLAIN))\n    del PLAIN.x\n    PLAIN.x = 5"
    ),
    "attr order 2": (
        "assert list(PLAIN.__dict__) == ['x', 'y', 'log'], list(vars(PLAIN))\n    "
        "PLAIN.n = 1\n    "
        "del PLAIN.y\n    "
        "PLAIN.y = 3\n    "
        "PLAIN.x = 4"
    ),
    "attr setattr": "assert PLAIN.x == 1\n    setattr(PLAIN, 'x', 7)",
    "attr object.__setattr__": "assert PLAIN.x == 1\n    object.__setattr__(PLAIN, 'x', 7)",
    "attr delattr": "assert PLAIN.x == 1\n    delattr(PLAIN, 'x')",
    "dict store": (
        "assert PLAIN.x == 1\n    PLAIN.__dict__['x'] = 3\n    PLAIN.__dict__['q'] = 3\n    PLAIN.y = 4"
    ),
    "dict store q": (
        "assert not hasattr(PLAIN, 'q')\n    PLAIN.y = 4\n    PLAIN.__dict__['q'] = 3\n    PLAIN.q = 8"
    ),
    "dict update": "assert PLAIN.x == 1\n    vars(PLAIN).update(x=3)",
    "dict clear": "assert PLAIN.x == 1\n    PLAIN.y = 3\n    vars(PLAIN).clear()\n    PLAIN.y = 9",
    "class changed": "assert type(PLAIN) is Plain\n    PLAIN.__class__ = Node",
    "class attr": "assert Plain.number == 0\n    Plain.number += 1",
    "class attr via instance read": (
        "assert PLAIN.number == 0\n    Plain.number = 1\n    assert PLAIN.number == 1"
    ),
    "class attr new": "assert not hasattr(Plain, 'new')\n    Plain.new = 1\n    assert PLAIN.new == 1",
    "class method": (
        "assert PLAIN.method() == 1\n    Plain.method = lambda self: 2\n    assert PLAIN.method() == 2"
    ),
    "class property": (
        "assert PLAIN.method() == 1\n    "
        "Plain.method = property(lambda self: 2)\n    "
        "assert PLAIN.method == 2"
    ),
    "class descriptor to data": (
        "assert PROPS.p == 0\n    "
        "PROPS.p = 3\n    "
        "Props.p = 4\n    "
        "assert PROPS.p == 4\n    "
        "PROPS.p = 5\n    "
        "assert PROPS.p == 5"
    ),
    "class dunder": (
        "assert not hasattr(Plain, '__len__')\n    Plain.__len__ = lambda self: 0\n    assert not PLAIN"
    ),
    "class eq": "assert PLAIN != 3\n    Plain.__eq__ = lambda s, o: True\n    assert PLAIN == 3",
    "class list": "Plain.shared.append(1)\n    assert len(Plain.shared) == 1",
    "class name": "assert Plain.__name__ == 'Plain'\n    Plain.__name__ = 'Z'",
    "class bases": (
        "assert Later.__bases__ == (object,)\n    "
        "class Z: pass\n    "
        "class Y(Z): pass\n    "
        "assert Z.__subclasses__() == [Y]"
    ),
    "metaclass": (
        "assert Meta.registry.keys() == {'Based'}, Meta.registry\n    "
        "class New(Based): pass\n    "
        "assert len(Meta.registry) == 2"
    ),
    "metaclass setattr": "assert not hasattr(Based, 'q')\n    Based.q = 1\n    assert Based.q == (1,)",
    "metaclass setattr 2": (
        "Based.z = 0\n    "
        "Based.z = 1\n    "
        "assert Based.z == (1,)\n    "
        "assert 'w' not in vars(Based)\n    "
        "Based.w = 1"
    ),
    "singleton": "Single().count += 1\n    assert Single().count == 1",
    "enum attr": "assert not hasattr(Color.RED, 'note')\n    Color.RED.note = 1",
    "descriptor": "assert Described.d.sets == 0\n    DESCRIBED.d = 3\n    assert DESCRIBED.d == 3",
    "deque": "assert list(DEQUE) == [1, 2]\n    DEQUE.append(3)\n    DEQUE.rotate(1)",
    "deque item": "assert list(DEQUE) == [1, 2]\n    DEQUE[0] = 9",
    "deque del": "assert list(DEQUE) == [1, 2]\n    del DEQUE[0]",
    "deque iadd": "global DEQUE\n    assert list(DEQUE) == [1, 2]\n    DEQUE += [4]",
    "deque in dict": "MAPS['d'].append(1)\n    assert len(MAPS['d']) == 1",
    "in deque": "INDEQUE[0].x += 1\n    assert INDEQUE[0].x == 2",
    "counter": "assert COUNTER['a'] == 2\n    COUNTER['a'] += 1\n    COUNTER.update('zz')",
    "counter item": "assert list(COUNTER) == ['a', 'b']\n    del COUNTER['a']\n    COUNTER['a'] = 1",
    "ordered": "assert list(ORDERED) == ['a', 'b']\n    ORDERED.move_to_end('a')",
    "ordered pop": "assert list(ORDERED) == ['a', 'b']\n    ORDERED.popitem(last=False)",
    "ordered set": (
        "assert list(ORDERED.items()) == [('a', 1), ('b', 2)]\n    ORDERED['a'] = 3\n    ORDERED['z'] = 1"
    ),
    "defaultdict": "assert not DEFAULT\n    DEFAULT['a'].append(1)",
    "chainmap": "assert 'z' not in CHAIN\n    CHAIN['z'] = 1",
    "userdict": "assert 'z' not in USERDICT\n    USERDICT['z'] = 1",
    "userlist": "assert len(USERLIST) == 1\n    USERLIST.append(1)",
    "contextvar": "assert VAR.get() == 0\n    VAR.set(1)",
    "weakkey": "assert not len(WEAKK)\n    WEAKK[PLAIN] = 1",
    "weakset": "assert not len(WEAKS)\n    WEAKS.add(PLAIN)",
    "namespace": "assert NS.a == 1\n    NS.a = 2\n    NS.b = 1",
    "lock": "assert not LOCK.locked()\n    LOCK.acquire()",
    "lock with": "assert not LOCK.locked()\n    with LOCK: pass",
    "rlock": (
        "assert RLOCK.acquire(blocking=False)\n    "
        "RLOCK.acquire()\n    "
        "assert RLOCK._recursion_count() == 2 if hasattr(RLOCK, '_recursion_count') else True"
    ),
    "event": "assert not EVENT.is_set()\n    EVENT.set()",
    "semaphore": (
        "assert SEM._value == 2\n    "
        "SEM.acquire()\n    "
        "assert SEM.acquire(blocking=False)\n    "
        "assert not SEM.acquire(blocking=False)"
    ),
    "condition": "assert COND.acquire(blocking=False)\n    COND.notify()",
    "queue": "assert QUEUE.empty()\n    QUEUE.put(1)",
    "local": "assert not hasattr(LOCAL, 'a')\n    LOCAL.a = 1",
    "logging": "assert not LOG.handlers, 1\n    LOG.addHandler(logging.NullHandler())\n    LOG.setLevel(10)",
    "own dict": "assert OWND == {'a': 1}\n    OWND['z'] = 1\n    OWND.extra = 3",
    "own dict attr": "assert OWND.extra == 0\n    OWND.extra = 3",
    "own list": "assert OWNL == [1]\n    OWNL.append(2)\n    OWNL.q = 1",
    "own list attr": "assert not hasattr(OWNL, 'q')\n    OWNL.append(2)\n    OWNL.q = 1",
    "default": "assert default(1) == 2",
    "function attr": "assert func.attr == 1\n    func.attr = 2\n    func.b = 1",
    "function defaults": "assert default.__defaults__ == ([],)\n    default.__defaults__ = (3,)",
    "lru": (
        "assert cached(1) == [1]\n    "
        "cached(1).append(2)\n    "
        "assert cached.__wrapped__.__defaults__[0] == [1]"
    ),
    "singledispatch": (
        "assert disp(1) == 'base'\n    disp.register(int, lambda x: 'int')\n    assert disp(1) == 'int'"
    ),
    "partial": "assert PART() == 2",
    "bound": "BOUND(1)\n    assert len(PLAIN.log) == 1",
    "tuple": (
        "TUP[0].append(1)\n    "
        "TUP[1][1] = 1\n    "
        "TUP[2].x += 1\n    "
        "assert len(TUP[0]) == 1 and len(TUP[1]) == 1 and TUP[2].x == 2"
    ),
    "frozen": "next(iter(FROZ)).count += 1\n    assert next(iter(FROZ)).count == 1",
    "cycle objects": (
        "assert len(ROOT.kids) == 1\n    ROOT.kids[0].up.kids.append(1)\n    ROOT.kids[0].up = None"
    ),
    "hidden": "assert HIDDEN.z == 1 and not hasattr(HIDDEN, 'q')\n    HIDDEN.z = 2\n    HIDDEN.q = 1",
    "property": "assert PROPS.p == 0\n    PROPS.p = 3",
    "cached_property": "assert 'c' not in vars(PROPS)\n    assert PROPS.c == 1",
    "abc register": "assert not issubclass(Later, Abstract)\n    Abstract.register(Later)",
    "data": "assert DATA == Data()\n    DATA.a = 1\n    DATA.l.append(1)",
    "data slots": "assert DATAS == DataSlots()\n    DATAS.a = 1\n    DATAS.l.append(1)",
    "list of objects": "STACK[0].x += 1\n    STACK.append(1)\n    assert STACK[0].x == 2 and len(STACK) == 2",
    "list popped object": "p = STACK.pop()\n    p.x += 1\n    assert p.x == 2",
    "dict of objects": "MAPS['k'].x += 1\n    assert MAPS.pop('k').x == 2",
    "closure object": "GET().x += 1\n    assert GET().x == 2",
    "closure deque": "GETD().append(1)\n    assert len(GETD()) == 1",
    "named tuple": "NTV.a.append(1)\n    assert len(NTV.a) == 1",
    "in threads": (
        "ts = [threading.Thread(target=lambda: setattr(PLAIN, 'x', PLAIN.x + 1)) for _ in range(2)]\n    "
        "assert PLAIN.x == 1\n    "
        "[t.start() for t in ts]\n    "
        "[t.join() for t in ts]\n    "
        "assert PLAIN.x in (2, 3)"
    ),
    "lock in threads": (
        "ts = [threading.Thread(target=inc_locked) for _ in range(2)]\n    "
        "[t.start() for t in ts]\n    "
        "[t.join() for t in ts]\n    "
        "assert PLAIN.x == 3"
    ),
    "cell in threads": (
        "ts = [threading.Thread(target=INC) for _ in range(2)]\n    "
        "[t.start() for t in ts]\n    "
        "[t.join() for t in ts]\n    "
        "assert INC() in (2, 3)"
    ),
    "deque in threads": (
        "ts = [threading.Thread(target=DEQUE.append, args=(i,)) for i in range(2)]\n    "
        "[t.start() for t in ts]\n    "
        "[t.join() for t in ts]\n    "
        "assert len(DEQUE) == 4"
    ),
    "annotations": "assert Data.__annotations__.keys() == {'a', 'l'}\n    Data.__annotations__['z'] = int",
    "doc": "assert Plain.__doc__ is None\n    Plain.__doc__ = 'a'",
    "kept item": (
        "PLAIN.kept = Plain()\n    "
        "PLAIN.kept.x = 2\n    "
        "assert not hasattr(PLAIN.kept, 'z')\n    "
        "PLAIN.kept.z = 1"
    ),
    "empty attrs": (
        "assert not vars(EMPTY_ATTRS)\n    EMPTY_ATTRS.a = 1\n    EMPTY_ATTRS.b = 1\n    del EMPTY_ATTRS.a"
    ),
    "proxy": "ITEMPROXY['a'].append(1)\n    assert ITEMPROXY['a'] == [1]",
    "count": "assert next(COUNT) == 5",
    "count in zip": "assert list(zip('ab', COUNT)) == [('a', 5), ('b', 6)]",
    "count by its method": "assert list(map(lambda _: COUNT.__next__(), 'ab')) == [5, 6]",
    "count in threads": (
        "ts = [threading.Thread(target=lambda: next(COUNT)) for _ in range(2)]\n    "
        "[t.start() for t in ts]\n    "
        "[t.join() for t in ts]\n    "
        "assert next(COUNT) == 7"
    ),
    "simplequeue": "assert SQ.empty()\n    SQ.put(1)",
}
# What nobody can put back.
LOADED_AFRESH = {
    "view of memory": "assert VIEWED[0] == 0\n    VIEWED[0] = 5",
    "partial attr": "assert not hasattr(PART, 'z')\n    PART.z = 1",
    "exception attr": "assert not hasattr(EXC, 'z')\n    EXC.z = 1",
    "exception reduce": "assert len(EXC.__reduce__()) == 2\n    EXC.z = 1",
    "own exception": "assert not hasattr(OEXC, 'z')\n    OEXC.z = 1",
    "dict replaced": "assert PLAIN.x == 1\n    PLAIN.__dict__ = {'x': 2}",
    "class attr del": (
        "assert Plain.number == 0\n    del Plain.number\n    assert not hasattr(PLAIN, 'number')"
    ),
    "class order": (
        "assert list(vars(Plain)).index('shared') < list(vars(Plain)).index('number')\n    "
        "del Plain.shared\n    "
        "Plain.shared = 3"
    ),
    "defaultdict factory": "assert DEFAULT.default_factory is list\n    DEFAULT.default_factory = int",
    "defaultdict items and factory": (
        "assert DEFAULT.default_factory is list and 'z' not in DEFAULT\n    "
        "DEFAULT['z'].append(1)\n    "
        "DEFAULT.default_factory = int"
    ),
    "dict replaced after a store": (
        "assert PLAIN.x == 1 and not hasattr(PLAIN, 'new')\n    PLAIN.new = 1\n    PLAIN.__dict__ = {'x': 2}"
    ),
    "dict changed and replaced": (
        "assert PLAIN.x == 1\n    vars(PLAIN).update(x=3)\n    PLAIN.__dict__ = {'x': 2}"
    ),
    "count by steps": "assert next(STEPS) == 5",
    "cycle": "assert next(CYCLE) == 1",
    "cycle in islice": "assert list(itertools.islice(CYCLE, 1)) == [1]",
    "listiter in zip": "assert list(zip('a', LISTITER)) == [('a', 1)]",
    "listiter in chain": "assert next(itertools.chain([], LISTITER)) == 1",
    "listiter of a generator": "assert next(x for x in LISTITER) == 1",
    "listiter unpacked": "assert [*LISTITER] == [1, 2, 3]",
    "listiter in enumerate": "assert next(enumerate(LISTITER)) == (0, 1)",
    "listiter in sum": "assert sum(map(int, LISTITER)) == 6",
    "listiter in any": "assert any(map(lambda x: x > 1, LISTITER))",
    "listiter in extend": "a = []\n    a.extend(LISTITER)\n    assert a == [1, 2, 3]",
    "listiter in in": "assert 1 in LISTITER",
    "listiter in for": "for x in LISTITER:\n        assert x == 1\n        break",
    "listiter in dict": "assert dict(zip(LISTITER, 'abc')) == {1: 'a', 2: 'b', 3: 'c'}",
    "listiter": "assert next(LISTITER) == 1",
    "array": "assert len(ARRAY) == 1\n    ARRAY.append(1)\n    ARRAY[0] = 8",
    "bytearray": "assert BYTES == b'a'\n    BYTES.extend(b'b')\n    BYTES[0] = 3",
    "stringio": "assert IO.getvalue() == ''\n    IO.write('a')",
    "random": "assert RANDOM.random() == FIRST\n    RANDOM.random()",
    "weakvalue": "assert not len(WEAKD)\n    WEAKD['a'] = PLAIN",
    "atomic": "assert ATOMIC.load() == 0\n    ATOMIC.store(1)",
    "exception": (
        "assert EXC.args == ('x',) and EXC.__cause__ is None\n    "
        "EXC.args = ()\n    "
        "EXC.__cause__ = KeyError()"
    ),
    "exception notes": "assert not hasattr(EXC, '__notes__')\n    EXC.add_note('a')",
    "own deque": "assert list(OWNQ) == [1]\n    OWNQ.append(2)\n    OWNQ.q = 1",
    "own deque attr": "assert not hasattr(OWNQ, 'q')\n    OWNQ.append(2)\n    OWNQ.q = 1",
    "generator": "assert next(GEN) == 1",
}
ROWS = {**PUT_BACK, **LOADED_AFRESH}
WAYS = ({"algorithm": "exhaustive"}, {"algorithm": "graph"}, {"memory_model": "pso"})


def check(
    folder: Path, name: str, model: str = MODEL, package: bool = False, **options: object
) -> ModelResult:
    """Check a model whose state is in a module of the project, or in a package elsewhere."""
    root = folder / "project"
    root.mkdir()
    (root / "pyproject.toml").touch()
    place = folder if package else root
    (place / "kept_state.py").write_text(STATE + CHANGE.format(body=ROWS[name]), encoding="utf-8")
    file = root / "model.py"
    named = '(instrument=("kept_state",))' if package else ""
    file.write_text(model.format(options=named), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(root), options=options))


@pytest.mark.parametrize("name", ROWS)
def test_every_execution_finds_what_a_package_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reloads: list[str], name: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    result = check(tmp_path, name, package=True)
    sys.modules.pop("kept_state", None)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert (len(reloads) > 2) is (name in LOADED_AFRESH)


@pytest.mark.share(4)
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_every_execution_finds_what_a_module_made(tmp_path: Path, name: str, way: dict[str, str]) -> None:
    result = check(tmp_path, name, **way)
    assert result.verdict is Verdict.VERIFIED, result.violations


@pytest.mark.share(4)
@pytest.mark.parametrize("way", [{}, *WAYS], ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_what_an_execution_changes_on_its_way_out_is_put_back(
    tmp_path: Path, name: str, way: dict[str, str]
) -> None:
    result = check(tmp_path, name, GIVEN_UP, **way)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.blocked == 2


METACLASS = """
import dpor

class Meta(type):
    def __getattribute__(cls, name):
        return shown(super().__getattribute__(name))

def shown(value):
    return [value][0]

@dpor.model
def model():
    class Made(metaclass=Meta):
        size = 1
    assert Made.size == 1
    assert Made().size == 1
"""


def test_a_metaclass_may_compute_all_attributes_of_its_classes(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(METACLASS, encoding="utf-8")
    result = check_model(CheckRequest(str(file), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result.violations
