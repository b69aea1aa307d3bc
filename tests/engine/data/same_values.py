"""What a program can see of its values, classes and variables: each function gives the same in a model as in Python."""

import abc
import collections
import copy
import datetime
import enum
import functools
import inspect
import itertools
import operator
import pickle
import threading
import types


class Plain:
    default = None

    def method(self):
        return 1


class Mapping(dict):
    pass


class Day(datetime.date, enum.Enum):
    FIRST = 2020, 1, 1
    SECOND = 2021, 2, 3


class Moment(datetime.datetime, abc.ABC):
    @abc.abstractmethod
    def told(self): ...


class Special(datetime.datetime):
    pass


def add(one, other=1):
    return one + other


def caught(*functions):
    raised = []
    for function in functions:
        try:
            raised.append(function())
        except Exception as error:
            raised.append((type(error).__name__, str(error), getattr(error, "name", None)))
    return raised


@functools.lru_cache
def doubled(number):
    return 2 * number


class WithCache:
    @functools.lru_cache(maxsize=None)  # noqa: B019, UP033 -- what people write
    def doubled(self, number):
        return 2 * number

    @staticmethod
    @functools.cache
    def static(number):
        return number

    @classmethod
    @functools.lru_cache(3)
    def of_class(cls, number):
        return cls, number


def a_cached_function():
    inner = functools.lru_cache(len)
    inner.__name__ = 7
    inner.other = 8
    one = WithCache()
    return (
        (inner.__name__, inner.other, sorted(vars(inner)), inner("abc"), inner("abc"), inner.cache_info()),
        (type(inner).__name__, type(inner).__module__, callable(inner), inspect.isfunction(inner)),
        (copy.copy(inner) is inner, copy.deepcopy(inner) is inner),
        pickle.loads(pickle.dumps(doubled)) is doubled,
        (doubled.__wrapped__(2), doubled.__qualname__, doubled.__doc__, str(inspect.signature(doubled))),
        (one.doubled(3), WithCache.doubled(one, 4), one.doubled.__func__ is WithCache.doubled, one.static(1)),
        WithCache.of_class(5)[0] is WithCache,
        (WithCache.doubled.cache_info(), WithCache.doubled.cache_parameters()),
        caught(lambda: inner([]), lambda: doubled(1, 2)),
    )


def locks_that_are_reset():
    found = []
    for kind in (threading.Lock, threading.RLock):
        lock = kind()
        lock.acquire()
        lock._at_fork_reinit()
        found.append((lock.acquire(False), lock.release()))
    condition = threading.Condition()
    condition.acquire()
    condition._at_fork_reinit()
    event = threading.Event()
    event.set()
    event._at_fork_reinit()
    found += [condition._is_owned(), condition.acquire(False), event.is_set(), event.wait(1)]
    return found, hasattr(threading.Semaphore(), "_at_fork_reinit")


def a_captured_none_that_is_rebound():
    def make(timeout=None):
        if timeout is None:
            timeout = 5

        def get():
            return timeout

        return get()

    return make(), make(3)


def none_as_a_value_of_variables():
    def make(value):
        def put(new):
            nonlocal value
            value = new

        def get():
            return value

        seen = [get()]
        for new in (None, 1, None):
            put(new)
            seen.append(get())
        return seen, [cell.cell_contents for cell in get.__closure__]

    return make(3), make(None)


def none_as_an_attribute_or_item():
    plain, table = Plain(), {None: None, 1: None}
    plain.own = None
    found = plain.own, plain.default, getattr(plain, "own", 3), getattr(plain, "none", None), vars(plain)
    return found, table.get(1, 5), table.pop(1, 7), table.setdefault(None, 4), table.setdefault(9), table


def messages_about_none():
    nothing = None
    return caught(
        lambda: nothing.missing,
        lambda: nothing(),
        lambda: nothing[0],
        lambda: print(*nothing),
        lambda: [*nothing],
        lambda: {**nothing},
    )


def classes():
    values = {}, [], set(), Mapping(), collections.deque(), collections.OrderedDict(), Plain(), (x for x in [])
    return [(v.__class__ is type(v), isinstance(v, v.__class__), v.__class__.__name__) for v in values]


def pickled_classes():
    return [pickle.loads(pickle.dumps(value.__class__)) for value in ({}, [], set(), Mapping())]


def kept_methods():
    items, table = [], {}
    methods = items.append, table.get, set().add, items.__len__, Mapping().update, iter(items).__next__
    return [
        (type(m).__name__, m.__name__, m.__qualname__, m == m, inspect.isroutine(m), hasattr(m, "__wrapped__"))
        for m in methods
    ]


def equal_methods():
    items = []
    return items.append == items.append, {items.append: 1}[items.append], [items.append].index(items.append)


def pickled_methods():
    return pickle.loads(pickle.dumps([1, 2].append)).__self__, copy.deepcopy([1].append).__self__


def kept_factories():
    items = []
    keep = items.copy
    made = collections.defaultdict(keep)
    return made.default_factory is keep, functools.partial(keep).func is keep, made[1], made.__getitem__(2)


def what_iterators_hold():
    makers = map(add, [1]), filter(add, [1]), itertools.starmap(add, [(1,)]), itertools.accumulate([1, 2], add)
    return [maker.__reduce__()[1] for maker in makers][0][0] is add, [
        list(copy.copy(map(add, [1]))),
        list(pickle.loads(pickle.dumps(map(add, [1])))),
    ]


def classes_of_dates():
    now = datetime.datetime.now()
    return (
        [type(datetime.date), type(datetime.datetime), datetime.date, datetime.datetime],
        [type(now), type(datetime.date.today()), type(Special.now()), type(now - datetime.timedelta(1))],
        [list(Day), Day.FIRST < Day.SECOND, isinstance(Day.FIRST, datetime.date)],
        caught(lambda: Moment(2020, 1, 1), lambda: datetime.datetime.now(1, 2), lambda: datetime.date.today(1)),
        pickle.loads(pickle.dumps([datetime.datetime, Special(2020, 1, 1)])),
    )


def unset_variables():
    def outer():
        value = 1

        def remove():
            nonlocal value
            del value

        def get():
            return value

        def late():
            return bound_later

        remove()
        found = caught(get, remove, late)
        try:
            value += 1
        except NameError as error:
            found.append((type(error).__name__, str(error), error.name))
        value = bound_later = 2
        bound_later += 1
        return found, get(), late()

    return outer(), caught(lambda: undefined)


def a_handler_unbinds_its_name():
    def outer(error=None):
        def get():
            return error

        try:
            raise ValueError(3)
        except ValueError as error:
            found = repr(get())
        return found, caught(get)

    return outer()


def local_variables():
    def outer(given):
        held = None

        def inner():
            nonlocal held, given
            held, given = given, 9

        first = dict(locals())
        inner()
        [number := 1, number + 1]
        return first["held"], first["given"], locals()["held"], vars()["given"], sorted(locals()), dir()

    return outer(4)


def cells_of_functions():
    def outer(value):
        def get():
            return value

        value += 1
        (cell,) = get.__closure__
        before = cell.cell_contents, cell == types.CellType(3), cell < types.CellType(4)
        other = types.FunctionType(get.__code__, get.__globals__, "other", None, (types.CellType(44),))
        cell.cell_contents = 7
        found = before, get(), value, inspect.getclosurevars(get).nonlocals, cell.__getattribute__("cell_contents")
        del cell.cell_contents
        return found, other(), caught(get, lambda: cell.cell_contents)

    return outer(2)


def set_through_partials():
    plain = Plain()
    functools.partial(setattr, plain, "a")(3)
    functools.partial(setattr, Plain, "b")(4)
    list(map(setattr, [plain], ["c"], [5]))
    found = plain.a, plain.b, operator.attrgetter("c")(plain)
    functools.partial(delattr, Plain, "b")()
    return found, hasattr(Plain, "b")
