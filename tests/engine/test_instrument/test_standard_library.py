"""Real code keeps working: the sources of standard modules, instrumented, pass a workout."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from dpor.instrument.transformer import compile_instrumented


def collections_works(m: Any) -> object:
    point = m.namedtuple("Point", "x y")(1, 2)
    counter = m.Counter("abracadabra")
    counter.update("aa")
    chain = m.ChainMap({"a": 1}, {"b": 2})
    ordered = m.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    return (
        point,
        counter.most_common(2),
        dict(chain),
        list(ordered),
        m.UserList([1])[:],
        (counter - m.Counter("a"))["b"],
    )


def dataclasses_works(m: Any) -> object:
    @m.dataclass(order=True)
    class Item:
        x: int
        y: list = m.field(default_factory=list)

    return repr(Item(1)), Item(1) < Item(2), m.asdict(Item(3, [1])), m.replace(Item(1), x=5)


def queue_works(m: Any) -> object:
    fifo, priority = m.Queue(2), m.PriorityQueue()
    fifo.put(1)
    fifo.put(2)
    for item in (3, 1, 2):
        priority.put(item)
    with pytest.raises(m.Full):
        fifo.put(3, block=False)
    return [fifo.get(), fifo.get()], [priority.get() for _ in range(3)], fifo.empty()


def argparse_works(m: Any) -> object:
    parser = m.ArgumentParser(prog="p", description="d")
    parser.add_argument("files", nargs="+")
    parser.add_argument("-n", "--number", type=int, default=3, choices=[3, 4])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--yes", action="store_true")
    group.add_argument("--no", action="store_false")
    return vars(parser.parse_args(["a", "b", "-n", "4", "--yes"])), parser.format_help()


def enum_works(m: Any) -> object:
    class Color(m.Enum):
        RED = 1
        GREEN = m.auto()

    class Flags(m.IntFlag):
        A = 1
        B = 2

    return list(map(str, Color)), Color(1).name, str(Flags.A | Flags.B), Color["GREEN"].value


def json_works(m: Any) -> object:
    data = {"a": [1, 2.5, None, True], "b": {"c": "é\n"}}
    return m.JSONEncoder(indent=2, sort_keys=True).encode(data), m.JSONEncoder().encode(data)


def statistics_works(m: Any) -> object:
    values = [1.5, 2, 3, 4, 7]
    return m.mean(values), m.median(values), m.stdev(values), m.quantiles(values), m.mode([1, 1, 2])


def functools_works(m: Any) -> object:
    calls = []

    @m.singledispatch
    def kind(x: object) -> str:
        return "object"

    kind.register(int, lambda x: "int")
    cached = m._lru_cache_wrapper(lambda x: calls.append(x) or x, 2, False, m._CacheInfo)
    return (
        kind(1),
        kind("a"),
        [cached(x) for x in (1, 1, 2, 3, 1)],
        calls,
        m.reduce(lambda a, b: a + b, [1, 2]),
    )


def heapq_works(m: Any) -> object:
    heap = [5, 3, 8, 1]
    m.heapify(heap)
    return (
        m.heappop(heap),
        m.nsmallest(2, heap),
        list(m.merge([1, 4], [2, 3])),
        m.nlargest(1, heap, key=lambda x: -x),
    )


def ast_works(m: Any) -> object:
    source = Path(ast.__file__).read_text()
    return m.unparse(m.parse(source)) == ast.unparse(ast.parse(source)), m.literal_eval("{'a': (1, -2)}")


WORKOUTS: dict[str, Callable[[Any], object]] = {
    "_collections_abc": lambda m: sorted(name for name in m.__all__ if issubclass(list, getattr(m, name))),
    "argparse": argparse_works,
    "ast": ast_works,
    "bisect": lambda m: (m.bisect([1, 2, 3], 2), m.bisect_left([1, 2, 3], 2, key=lambda x: x)),
    "calendar": lambda m: (m.calendar(2024), m.monthrange(2024, 2)),
    "collections": collections_works,
    "configparser": lambda m: read_configuration(m),
    "contextlib": lambda m: use_contexts(m),
    "copy": lambda m: m.deepcopy({"a": [1, {2}], "b": (3,)})["a"],
    "csv": lambda m: list(m.DictReader(["a,b", "1,2"])),
    "dataclasses": dataclasses_works,
    "difflib": lambda m: (
        list(m.unified_diff(["a\n", "b\n"], ["a\n", "c\n"])) + list(m.ndiff(["abc"], ["abd"]))
    ),
    "enum": enum_works,
    "fnmatch": lambda m: (m.filter(["a.py", "b.c"], "*.py"), m.translate("*[!a]?")),
    "fractions": lambda m: (m.Fraction("1/3") + m.Fraction(1, 6), m.Fraction(0.5).limit_denominator()),
    "functools": functools_works,
    "graphlib": lambda m: list(m.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": set()}).static_order())[
        -1
    ],
    "heapq": heapq_works,
    "html.parser": lambda m: m.HTMLParser().feed("<a href='x'>b</a>"),
    "ipaddress": lambda m: list(map(str, m.ip_network("10.0.0.0/29").hosts())),
    "json": lambda m: m.loads(m.dumps({"a": [1, 2.5, None], "b": {"c": "é"}}, indent=1)),
    "json.decoder": lambda m: (m.py_scanstring('x\\u00e9"', 0), m.JSONDecoder().decode('{"a": [1]}')),
    "json.encoder": json_works,
    "numbers": lambda m: isinstance(3, m.Integral),
    "operator": lambda m: (m.attrgetter("real")(3), m.itemgetter(1, 0)("ab")),
    "posixpath": lambda m: (m.normpath("/a/b/../c.txt"), m.relpath("/a/b", "/a/c"), m.expandvars("$X")),
    "pprint": lambda m: m.pformat({"b": list(range(40)), "a": {"x": ("y",) * 30}}),
    "queue": queue_works,
    "random": lambda m: (
        m.Random(1).sample(range(9), 3),
        m.Random(2).choices("abc", k=4),
        m.Random(3).gauss(0, 1),
    ),
    "reprlib": lambda m: m.repr(list(range(100))),
    "sched": lambda m: run_schedule(m),
    "shlex": lambda m: (m.split("a 'b c' d\\ e"), m.quote("a b")),
    "statistics": statistics_works,
    "string": lambda m: (
        m.Template("$a ${b}").substitute(a=1, b=2),
        m.Formatter().format("{0:>3}{a!r}", 1, a=2),
    ),
    "textwrap": lambda m: (
        m.fill("the quick brown fox " * 5, 30),
        m.dedent("  a\n  b"),
        m.shorten("a b c d", 5),
    ),
    "tokenize": lambda m: [t.string for t in m.generate_tokens(iter(["x = f'{y}'\n"]).__next__)],
    "types": lambda m: (m.SimpleNamespace(a=1), m.new_class("C", (dict,)).__name__),
    "typing": lambda m: (
        str(m.Optional[int]),
        m.get_type_hints(lambda: 1),
        m.NamedTuple("P", [("x", int)])(1),
    ),
    "urllib.parse": lambda m: (
        m.urljoin("http://a/b/c", "../d?x=1"),
        m.parse_qs("a=1&b=2"),
        m.quote("a b/é"),
    ),
    "weakref": lambda m: len(m.WeakValueDictionary()) + len(m.WeakSet()),
    "xml.etree.ElementPath": lambda m: list(m.xpath_tokenizer("a/b[@c='d']")),
}


def read_configuration(m: Any) -> object:
    parser = m.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = %(x)s2\n[b]\nz: on")
    return parser.getint("a", "y"), parser["b"].getboolean("z"), parser.sections()


def use_contexts(m: Any) -> object:
    log: list[object] = []

    @m.contextmanager
    def manager(x: int) -> Any:
        log.append(x)
        yield x
        log.append(-x)

    with m.ExitStack() as stack, m.suppress(KeyError):
        stack.enter_context(manager(1))
        stack.callback(log.append, "called")
        raise KeyError
    return log


def run_schedule(m: Any) -> object:
    log: list[int] = []
    scheduler = m.scheduler(lambda: 0, lambda delay: None)
    scheduler.enter(0, 2, log.append, (2,))
    scheduler.enter(0, 1, log.append, (1,))
    scheduler.run()
    return log


def load(name: str, compiled: Callable[[str, str], CodeType], entries: dict[str, Any]) -> ModuleType:
    """A private copy of a standard module, compiled by `compiled`."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    path = sys.modules[name].__file__ if name in sys.modules else spec.origin
    assert path is not None
    module = ModuleType(name)
    vars(module).update(
        __file__=path, __package__=name if path.endswith("__init__.py") else name.rpartition(".")[0]
    )
    vars(module).update(entries)
    if path.endswith("__init__.py"):
        module.__path__ = [str(Path(path).parent)]
    code = compiled(Path(path).read_text("utf-8"), path)
    displaced = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(code, vars(module))
    finally:
        if displaced is None:
            del sys.modules[name]
        else:
            sys.modules[name] = displaced
    return module


@pytest.mark.parametrize("name", WORKOUTS)
def test_standard_module_works_instrumented(name: str, hooks: Any) -> None:
    instrumented = load(name, compile_instrumented, hooks.entries())
    plain = load(name, lambda source, path: compile(source, path, "exec", dont_inherit=True), {})
    assert repr(WORKOUTS[name](instrumented)) == repr(WORKOUTS[name](plain))


def test_every_pure_standard_module_compiles() -> None:
    folder = Path(ast.__file__).parent
    for path in sorted(
        [*folder.glob("*.py"), *folder.glob("asyncio/*.py"), *folder.glob("concurrent/*/*.py")]
    ):
        compile_instrumented(path.read_bytes(), str(path))
