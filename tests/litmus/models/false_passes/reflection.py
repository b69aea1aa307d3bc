"""Two ways to one place: attributes, globals and items that are also reached by another road."""

import operator
import threading

import dpor

total = 0


class Box:
    shared = 0

    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()


class Slotted:
    __slots__ = ("value",)

    def __init__(self):
        self.value = 0


def _in_two_threads(first, second):
    dpor.spawn(first)
    dpor.spawn(second)
    dpor.join_all()


@dpor.model(expect="violated")
def getattr_and_setattr():
    box = Box()

    def add():
        setattr(box, "value", getattr(box, "value") + 1)  # noqa: B009, B010 - the road is the point

    _in_two_threads(add, add)
    assert box.value == 2


@dpor.model
def getattr_and_setattr_fixed():
    box = Box()

    def add():
        with box.lock:
            setattr(box, "value", getattr(box, "value") + 1)  # noqa: B009, B010 - the road is the point

    _in_two_threads(add, add)
    assert box.value == 2


@dpor.model(expect="violated")
def attribute_and_instance_dict():
    box = Box()

    def add():
        box.value += 1

    def add_through_dict():
        box.__dict__["value"] += 1

    _in_two_threads(add, add_through_dict)
    assert box.value == 2


@dpor.model
def attribute_and_instance_dict_fixed():
    box = Box()

    def add():
        with box.lock:
            box.value += 1

    def add_through_dict():
        with box.lock:
            box.__dict__["value"] += 1

    _in_two_threads(add, add_through_dict)
    assert box.value == 2


@dpor.model(expect="violated")
def attribute_and_vars():
    box = Box()

    def add():
        box.value += 1

    def add_through_vars():
        vars(box)["value"] += 1

    _in_two_threads(add, add_through_vars)
    assert box.value == 2


@dpor.model
def attribute_and_vars_fixed():
    box = Box()

    def add():
        with box.lock:
            box.value += 1

    def add_through_vars():
        with box.lock:
            vars(box)["value"] += 1

    _in_two_threads(add, add_through_vars)
    assert box.value == 2


@dpor.model(expect="violated")
def slot():
    box = Slotted()

    def add():
        box.value += 1

    _in_two_threads(add, add)
    assert box.value == 2


@dpor.model
def slot_fixed():
    box = Slotted()
    lock = threading.Lock()

    def add():
        with lock:
            box.value += 1

    _in_two_threads(add, add)
    assert box.value == 2


@dpor.model(expect="violated")
def class_attribute():
    Box.shared = 0

    def add():
        Box.shared += 1

    _in_two_threads(add, add)
    assert Box.shared == 2


@dpor.model
def class_attribute_fixed():
    Box.shared = 0
    lock = threading.Lock()

    def add():
        with lock:
            Box.shared += 1

    _in_two_threads(add, add)
    assert Box.shared == 2


@dpor.model(expect="violated")
def global_variable():
    global total
    total = 0

    def add():
        global total
        total += 1

    _in_two_threads(add, add)
    assert total == 2


@dpor.model
def global_variable_fixed():
    global total
    total = 0
    lock = threading.Lock()

    def add():
        global total
        with lock:
            total += 1

    _in_two_threads(add, add)
    assert total == 2


@dpor.model(expect="violated")
def closure_variable():
    count = 0

    def add():
        nonlocal count
        count += 1

    _in_two_threads(add, add)
    assert count == 2


@dpor.model
def closure_variable_fixed():
    count = 0
    lock = threading.Lock()

    def add():
        nonlocal count
        with lock:
            count += 1

    _in_two_threads(add, add)
    assert count == 2


@dpor.model(expect="violated")
def functions_of_operator():
    cells = [0]

    def add():
        operator.setitem(cells, 0, operator.getitem(cells, 0) + 1)

    _in_two_threads(add, add)
    assert cells == [2]


@dpor.model
def functions_of_operator_fixed():
    cells = [0]
    lock = threading.Lock()

    def add():
        with lock:
            operator.setitem(cells, 0, operator.getitem(cells, 0) + 1)

    _in_two_threads(add, add)
    assert cells == [2]


@dpor.model(expect="violated")
def bound_method_kept_in_a_variable():
    items = []
    append = items.append
    _in_two_threads(lambda: append(1), lambda: append(2))
    assert items == [1, 2]


@dpor.model
def bound_method_kept_in_a_variable_fixed():
    items = []
    append = items.append
    _in_two_threads(lambda: append(1), lambda: append(2))
    assert sorted(items) == [1, 2]


@dpor.model(expect="violated")
def bound_method_as_a_target():
    items = []
    dpor.spawn(items.append, 1)
    dpor.spawn(items.append, 2)
    dpor.join_all()
    assert items == [1, 2]


@dpor.model
def bound_method_as_a_target_fixed():
    items = []
    dpor.spawn(items.append, 1)
    dpor.spawn(items.append, 2)
    dpor.join_all()
    assert sorted(items) == [1, 2]


@dpor.model(expect="violated")
def map_over_a_method():
    """`list(map(items.append, ...))` calls a C method from C."""
    items = []
    _in_two_threads(lambda: list(map(items.append, [1])), lambda: list(map(items.append, [2])))
    assert items == [1, 2]


@dpor.model
def map_over_a_method_fixed():
    items = []
    _in_two_threads(lambda: list(map(items.append, [1])), lambda: list(map(items.append, [2])))
    assert sorted(items) == [1, 2]
