"""State of packages that nobody named, which instrumented code changes without a call of theirs: each execution finds
it as it was, in whatever way an object is reached.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

# One module for each way, so that none is known from another one.
STATE = """
import collections, functools, threading, types

class Box:
    def __init__(self):
        self.items = []

class Slotted:
    __slots__ = ("inner",)
    def __init__(self):
        self.inner = Box()

class Holding:
    items = [Box()]
    class Inner:
        boxes = {1: Box()}

def closure():
    box = Box()
    def get():
        return box
    return get

def with_default(box=Box()):
    return box

def change(boxes):
    for box in boxes:
        box.items.append(1)

BOX = Box()
BOXES = [Box()]
TABLE = {"k": Box()}
DEQUE = collections.deque([Box()])
SLOTTED = Slotted()
TUPLE = (Box(),)
CLOSURE = closure()
NESTED = {"a": [{"b": Box()}]}
PARTIAL = functools.partial(print, Box())
PROXY = types.MappingProxyType({"k": Box()})
METHOD = [Box()].__getitem__
ERROR = ValueError(Box())
NUMBER = 0
with_default.box = Box()
EVENT = threading.Event()
EVENT.box = Box()
"""
GETS = {
    "event": "m.EVENT.box",
    "attribute": "m.BOX",
    "index": "m.BOXES[0]",
    "loop": "[box for box in m.BOXES][0]",
    "unpacking": "(lambda box: box)(*m.BOXES)",
    "slice": "m.BOXES[-1:][0]",
    "copy": "copy.copy(m.BOXES)[0]",
    "sum": "(m.BOXES + [1])[0]",
    "max": "max(m.BOXES, key=lambda box: 1)",
    "next": "next(iter(m.BOXES))",
    "zip": "list(zip(m.BOXES, m.BOXES))[0][1]",
    "map": "list(map(lambda box: box, m.BOXES))[0]",
    "chain": "next(itertools.chain(m.BOXES))",
    "itemgetter": "operator.itemgetter(0)(m.BOXES)",
    "attrgetter": "operator.attrgetter('SLOTTED.inner')(m)",
    "getattr": "getattr(m, 'BOX')",
    "getattr in C": "list(map(getattr, [m.SLOTTED], ['inner']))[0]",
    "slot": "m.SLOTTED.inner",
    "tuple": "m.TUPLE[0]",
    "dict": "m.TABLE['k']",
    "get": "m.TABLE.get('k')",
    "setdefault": "m.TABLE.setdefault('k', 1)",
    "values": "list(m.TABLE.values())[0]",
    "keyword": "(lambda k: k)(**m.TABLE)",
    "display": "{**m.TABLE}['k']",
    "pattern": "matched(m)",
    "deque": "m.DEQUE[0]",
    "closure": "m.CLOSURE.__closure__[0].cell_contents",
    "default value": "m.with_default.__defaults__[0]",
    "attribute of a function": "m.with_default.box",
    "class": "m.Holding.items[0]",
    "class in a class": "m.Holding.Inner.boxes[1]",
    "derived class": "type('Mine', (m.Holding,), {})().items[0]",
    "nested": "m.NESTED['a'][0]['b']",
    "partial": "m.PARTIAL.args[0]",
    "proxy": "m.PROXY['k']",
    "method in C": "m.METHOD(0)",
    "exception": "m.ERROR.args[0]",
    "vars": "vars(m)['BOX']",
    "__dict__": "m.__dict__['BOXES'][0]",
    "UserList": "collections.UserList(m.BOXES)[0]",
    "ChainMap": "collections.ChainMap(m.TABLE)['k']",
    "star import": "box_of_star",
}
MODEL = """
import collections, copy, itertools, operator, dpor
import {modules}
from {star} import *
box_of_star = BOX

def matched(m):
    match m.BOXES:
        case [box]:
            return box

@dpor.model
def model():
    dpor.choose(range(2))
    {body}
"""
CHANGE = """
    m = {module}
    box = {get}
    assert not box.items, {name!r}
    box.items.append(1)
    assert not hasattr(box, "new"), {name!r}
    box.new = 1
"""


def module_of(prefix: str, name: str) -> str:
    return prefix + "".join(letter for letter in name if letter.isalnum())


def check(folder: Path, text: str) -> ModelResult:
    project = folder / "project"
    project.mkdir()
    (project / "model.py").write_text(text, encoding="utf-8")
    return check_model(CheckRequest("model.py", "model", str(project)))


def test_state_of_a_package_is_as_it_was_in_whatever_way_it_is_reached(
    tmp_path: Path, installed: Path
) -> None:
    modules = {name: module_of("found_by_", name) for name in GETS}
    for module in modules.values():
        (installed / f"{module}.py").write_text(STATE, encoding="utf-8")
    body = "".join(CHANGE.format(module=modules[name], get=get, name=name) for name, get in GETS.items())
    star = modules["star import"]
    result = check(tmp_path, MODEL.format(modules=", ".join(modules.values()), star=star, body=body.strip()))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2), result.violations
    # Not even by code in C was code of a package called.
    assert not [one for one in result.assumptions if one.subject.startswith("found_by_")]


def test_a_variable_of_a_package_is_as_it_was(tmp_path: Path, installed: Path) -> None:
    (installed / "found_variable.py").write_text(STATE, encoding="utf-8")
    body = (
        "import found_variable as m\n    m.NUMBER += 1\n    assert m.NUMBER == 1\n    m.Holding.new = m.NUMBER\n"
        "    assert m.SLOTTED.inner\n    m.SLOTTED.inner = None"
    )
    text = MODEL.format(modules="found_variable", star="found_variable", body=body)
    result = check(tmp_path, text)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2), result.violations


@pytest.mark.parametrize("name", [name for name in GETS if name != "star import"])
def test_an_object_that_a_package_has_made_for_the_model_is_made_anew(
    tmp_path: Path, installed: Path, name: str
) -> None:
    module = module_of("made_by_", name)
    (installed / f"{module}.py").write_text(STATE, encoding="utf-8")
    own = "\n".join(f"{variable} = {module}.{variable}" for variable in STATE_NAMES)
    body = CHANGE.format(module="sys.modules[__name__]", get=GETS[name], name=name).strip()
    text = MODEL.format(modules=f"sys, {module}", star=module, body=body)
    result = check(tmp_path, text.replace("\ndef matched", f"\n{own}\n\ndef matched", 1))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2), result.violations


STATE_NAMES = [
    line.split(" = ")[0] for line in STATE.splitlines() if line[:1].isupper() and " = " in line
] + [
    "Holding",
    "with_default",
]

GIVEN = {
    "a list": "{m}.change([BOX])",
    "a tuple in a dict": "{m}.change({{'a': (BOX,)}}['a'])",
    "an attribute": "{m}.change((holder.box for holder in [Holder()]))",
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_package_changes_of_the_models_objects_is_as_it_was(
    tmp_path: Path, installed: Path, name: str
) -> None:
    module = module_of("changing_", name)
    (installed / f"{module}.py").write_text(STATE, encoding="utf-8")
    given = GIVEN[name].format(m=module)
    own = "class Own:\n    items = None\n\nBOX = Own()\nBOX.items = []\n\nclass Holder:\n    box = BOX\n"
    body = f"assert not BOX.items\n    {given}\n    assert len(BOX.items) == 1"
    text = MODEL.format(modules=module, star=module, body=body)
    result = check(tmp_path, text.replace("\ndef matched", f"\n{own}\n\ndef matched", 1))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2), result.violations
    assert [one.subject for one in result.assumptions] == [module]


VIEWS = {
    "keys": "TABLE.keys()",
    "items": "TABLE.items()",
    "a proxy": "types.MappingProxyType(TABLE)",
    "a proxy of a proxy": "types.MappingProxyType(types.MappingProxyType(TABLE))",
    "keys of a proxy": "types.MappingProxyType(TABLE).keys()",
}


@pytest.mark.parametrize("whose", ["the package's", "the model's"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_a_package_has_made_shows_the_dict_that_threads_change(
    tmp_path: Path, installed: Path, name: str, whose: str
) -> None:
    module = module_of("viewing_", name + whose)
    (installed / f"{module}.py").write_text(f"{STATE}\nVIEW = {VIEWS[name]}\n", encoding="utf-8")
    holder = module if whose == "the package's" else "HOLDER"
    body = (
        "found = []\n"
        f"    threads = [dpor.spawn(lambda: {holder}.TABLE.update(new=1)),\n"
        f"        dpor.spawn(lambda: found.append(len({holder}.VIEW)))]\n"
        "    for thread in threads:\n        thread.join()\n"
        "    assert found == [2]"
    )
    own = f"class HOLDER:\n    TABLE, VIEW = {module}.TABLE, {module}.VIEW\n"
    text = MODEL.format(modules=f"{module}, dpor", star=module, body=body)
    result = check(tmp_path, text.replace("\ndef matched", f"\n{own}\n\ndef matched", 1))
    assert result.verdict is Verdict.VIOLATED


def test_what_cannot_be_put_back_of_a_package_is_named(tmp_path: Path, installed: Path) -> None:
    (installed / "counting.py").write_text("import itertools\nCOUNT = itertools.count()\n", encoding="utf-8")
    text = MODEL.format(modules="counting", star="counting", body="assert next(counting.COUNT) >= 0")
    result = check(tmp_path, text.replace("box_of_star = BOX\n", "", 1))
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert [(one.kind, one.subject) for one in result.assumptions] == [
        (AssumptionKind.KEPT_STATE, "count of counting")
    ]
