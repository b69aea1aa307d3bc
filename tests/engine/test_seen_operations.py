"""Whatever Python offers to read or to change something shared, a check sees it.

Each case is a model that another thread can break in one way only; one that was called verified would mean that an
operation is not watched.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, Verdict, ViolationKind

HEADER = Path(__file__).parent / "data" / "seen_operations.py"

MODEL = """

@dpor.model
def model():
    {before}
    s = Shared({fields})

    def w():
        {write}

    dpor.spawn(w)
    {check}
"""

# What is made beforehand, for cases that need more than what is shared.
BEFORE = {
    "closure": "nonlocal_set, cell = cell_of_a_function()",
    "global var": "reset()",
    "module attr": "reset()",
    "globals dict": "reset()",
    "global aug": "GG[0] = 0",
}

# What is shared, what another thread does to it, and what can fail then.
CASES = {
    "in a display": ("a=Point()", "s.a.x = 1", "assert s.a in (Point(), Point(5))"),
    "not in a display": ("a=[0]", "s.a.append(1)", "b = [0]; assert not s.a not in [b, [2]]"),
    "in a display in a chain": ("a=[0]", "s.a.append(1)", "b = [0]; assert [-1] < s.a in [b, [2]]"),
    "in a display in a generator": ("a=[0]", "s.a.append(1)", "assert all(s.a in [b] for b in [[0]])"),
    "equal to what an operator gives": ("a=Signed(0)", "s.a.x = 1", "b = Signed(0); assert -b == s.a"),
    "equal to what abs gives": ("a=Signed(0)", "s.a.x = 1", "b = Signed(0); assert abs(b) == s.a"),
    "proxy of a mapping": ("a={}", "s.a['k'] = 1", "assert 'k' not in types.MappingProxyType(s.a)"),
    "item of a proxy": (
        "a={'k': 0}, b=None",
        "s.a['k'] = 1",
        "p = types.MappingProxyType(s.a); assert p['k'] == 0",
    ),
    "get of a proxy": ("a={}", "s.a['k'] = 1", "p = types.MappingProxyType(s.a); assert p.get('k') is None"),
    "items of a proxy": (
        "a={}",
        "s.a['k'] = 1",
        "p = types.MappingProxyType(s.a); assert not list(p.items())",
    ),
    "view of memory": ("a=bytearray(1)", "s.a[0] = 1", "m = memoryview(s.a); assert m[0] == 0"),
    "through a view of memory": ("a=bytearray(1)", "memoryview(s.a)[0] = 1", "assert s.a[0] == 0"),
    "join": ("items=['a']", "s.items.append('b')", "assert ','.join(s.items) == 'a'"),
    "format method": ("items=[1]", "s.items.append(2)", "assert '{}'.format(s.items) == '[1]'"),
    "bool call": ("items=[]", "s.items.append(2)", "assert bool(s.items) is False"),
    "any inner": ("items=[[]]", "s.items[0].append(1)", "assert any(s.items) is False"),
    "map len": ("items=[[]]", "s.items[0].append(1)", "assert sum(map(len, s.items)) == 0"),
    "map list": ("items=[[]]", "s.items[0].append(1)", "assert list(map(list, s.items)) == [[]]"),
    "key len": (
        "items=[[], [1]]",
        "s.items[0].extend([1, 2, 3])",
        "assert max(s.items, key=len) is s.items[1]",
    ),
    "sort key len": (
        "items=[[], [1]]",
        "s.items[0].extend([1, 2, 3])",
        "s.items.sort(key=len); assert len(s.items[1]) == 1",
    ),
    "attrgetter": ("a=Point()", "s.a.x = 1", "assert operator.attrgetter('x')(s.a) == 0"),
    "itemgetter": ("a=[0]", "s.a[0] = 1", "assert operator.itemgetter(0)(s.a) == 0"),
    "methodcaller": ("a=[0]", "s.a[0] = 1", "assert operator.methodcaller('copy')(s.a) == [0]"),
    "key attrgetter": (
        "a=[Point(0), Point(1)]",
        "s.a[0].x = 2",
        "assert max(s.a, key=operator.attrgetter('x')) is s.a[1]",
    ),
    "enumerate": ("a=[0, 0]", "s.a[1] = 1", "assert [x for i, x in enumerate(s.a)] == [0, 0]"),
    "enumerate for": (
        "a=[0, 0]",
        "s.a[1] = 1",
        "for i, x in enumerate(s.a):\n        s.n += 1\n        assert x == 0",
    ),
    "zip for": (
        "a=[0, 0], b=[0, 0]",
        "s.b[1] = 1",
        "for i, x in zip(s.a, s.b):\n        s.n += 1\n        assert x == 0",
    ),
    "reversed for": (
        "a=[0, 0]",
        "s.a[0] = 1",
        "for x in reversed(s.a):\n        s.n += 1\n        assert x == 0",
    ),
    "chain for": (
        "a=[0, 0]",
        "s.a[1] = 1",
        "for x in itertools.chain(s.a, [0]):\n        s.n += 1\n        assert x == 0",
    ),
    "zip_longest for": (
        "a=[0, 0]",
        "s.a[1] = 1",
        "for x, _ in itertools.zip_longest(s.a, [0]):\n        s.n += 1\n        assert x == 0",
    ),
    **{
        f"{by} of {source}": ("a=[0]", "s.a.append(1)", f"i = {source}; assert len(s.a) > 1 or {by} != 2")
        for source in (
            "iter(s.a)",
            "enumerate(s.a)",
            "itertools.tee(s.a)[0]",
            "itertools.tee(itertools.tee(s.a)[1])[0]",
            "itertools.chain.from_iterable([s.a])",
            "itertools.islice(s.a, 5)",
        )
        for by in (
            "len(list(i))",
            "len([*i])",
            "sum(1 for x in i)",
            "(lambda *values: len(values))(*i)",
            "len(collections.deque(i))",
            "sum(next(i, None) is not None for _ in 'ab')",
        )
    },
    **{
        f"made of a subclass of {base}": (
            f"a={made}",
            "s.a.append(1)",
            f"class Own({base}): pass\n    assert len(Own({arguments})) == 1",
        )
        for base, made, arguments in (
            ("list", "[0]", "s.a"),
            ("set", "[0]", "s.a"),
            ("frozenset", "[0]", "s.a"),
            ("tuple", "[0]", "s.a"),
            ("collections.deque", "[0]", "s.a"),
            ("array.array", "[0]", "'i', s.a"),
            ("bytearray", "bytearray(b'a')", "s.a"),
            ("bytes", "bytearray(b'a')", "s.a"),
        )
    },
    "made by C beside an init in Python": (
        "a=[0]",
        "s.a.append(1)",
        "class Own(tuple):\n        def __init__(self, values): pass\n    assert len(Own(s.a)) == 1",
    ),
    "text of an exception": (
        "a=[0]",
        "s.a.append(1)",
        "class Own(Exception): pass\n    e = Own(s.a); assert str(e) == '[0]'",
    ),
    "representation of an exception": (
        "a=[0]",
        "s.a.append(1)",
        "class Own(KeyError): pass\n    e = Own(s.a); assert f'{e!r}' == 'Own([0])'",
    ),
    "iter twice": (
        "a=[0]",
        "s.a.append(1)",
        "i = iter(s.a); assert len(s.a) > 1 or list(zip(i, i)) != [(0, 1)]",
    ),
    "iter found twice": (
        "a=[0]",
        "s.a.append(1)",
        "i = iter(s.a); assert len(s.a) > 1 or list(zip(i, map(abs, i))) != [(0, 1)]",
    ),
    "tee of a deque": (
        "a=collections.deque([0])",
        "s.a.append(1)",
        "i, _ = itertools.tee(s.a)\n    try: list(i)\n    except RuntimeError: assert False",
    ),
    "islice": ("a=[0, 0]", "s.a[1] = 1", "assert list(itertools.islice(s.a, 2)) == [0, 0]"),
    "iter next": ("a=[0, 0]", "s.a[1] = 1", "it = iter(s.a); next(it); assert next(it) == 0"),
    "filter for": (
        "a=[1, 1]",
        "s.a[1] = 0",
        "n = 0\n    for x in filter(None, s.a):\n        n += 1\n        s.n += 1\n    assert n == 2",
    ),
    "map for": ("a=[1, 1]", "s.a[1] = 0", "for x in map(abs, s.a):\n        s.n += 1\n        assert x == 1"),
    "match seq": (
        "a=[0, 0]",
        "s.a[1] = 1",
        "match s.a:\n        case [0, 0]: pass\n        case _: assert False",
    ),
    "match class": (
        "a=Point()",
        "s.a.x = 1",
        "match s.a:\n        case Point(x=0): pass\n        case _: assert False",
    ),
    "match map": (
        "a={'k': 0}",
        "s.a['k'] = 1",
        "match s.a:\n        case {'k': 0}: pass\n        case _: assert False",
    ),
    "fromkeys": ("a=[0]", "s.a.append(1)", "assert dict.fromkeys(s.a) == {0: None}"),
    "frozenset union": ("a={0}", "s.a.add(1)", "assert frozenset().union(s.a) == {0}"),
    "frozenset call": ("a={0}", "s.a.add(1)", "assert frozenset(s.a) == {0}"),
    "partial": ("a=[0]", "s.a.append(1)", "assert functools.partial(len, s.a)() == 1"),
    "reduce": ("a=[[0]]", "s.a[0].append(1)", "assert functools.reduce(operator.add, s.a, []) == [0]"),
    "vars get": ("a=Point()", "s.a.x = 1", "assert vars(s.a)['x'] == 0"),
    "dunder dict": ("a=Point()", "s.a.x = 1", "assert s.a.__dict__['x'] == 0"),
    "dunder dict eq": ("a=Point()", "s.a.x = 1", "assert s.a.__dict__ == {'x': 0, 'y': 0}"),
    "dict copy inst": ("a=Point()", "s.a.x = 1", "assert dict(vars(s.a)) == {'x': 0, 'y': 0}"),
    "getattr dyn": ("a=Point()", "s.a.x = 1", "assert getattr(s.a, 'x') == 0"),
    "setattr dyn": ("a=Point()", "setattr(s.a, 'x', 1)", "assert s.a.x == 0"),
    "setattr obj": ("a=Point()", "object.__setattr__(s.a, 'x', 1)", "assert s.a.x == 0"),
    "dict update inst": ("a=Point()", "vars(s.a).update(x=1)", "assert s.a.x == 0"),
    "slice assign": ("a=[0, 0]", "s.a[:] = [1, 1]", "assert s.a[1] == 0"),
    "inplace mul": ("a=[0]", "s.a *= 2", "assert len(s.a) == 1"),
    "star call": ("a=[0]", "s.a.append(1)", "assert (lambda *x: x)(*s.a) == (0,)"),
    "star kw": ("a={}", "s.a['k'] = 1", "assert (lambda **x: x)(**s.a) == {}"),
    "star list": ("a=[0]", "s.a.append(1)", "assert [*s.a] == [0]"),
    "min default": ("a=[3]", "s.a.append(1)", "assert min(s.a) == 3"),
    "heapq": ("a=[3]", "heapq.heappush(s.a, 1)", "assert s.a[0] == 3"),
    "bisect": ("a=[3]", "s.a.append(5)", "assert bisect.bisect(s.a, 4) == 1 and len(s.a) == 1"),
    "deque": ("a=collections.deque([0])", "s.a.append(1)", "assert s.a == collections.deque([0])"),
    "counter": ("a=collections.Counter(k=0)", "s.a['k'] += 1", "assert s.a == collections.Counter()"),
    "class attr": ("a=0", "Shared.flag = 1", "assert s.flag == 0"),
    "type attr": ("a=0", "Shared.flag = 1", "assert type(s).flag == 0"),
    "prop": ("_v=0", "s._v = 1", "assert s.value == 0"),
    "closure": ("a=0", "nonlocal_set()", "assert cell() == 0"),
    "bytearray": ("a=bytearray(b'a')", "s.a[0] = 98", "assert bytes(s.a) == b'a'"),
    "memoryview": ("a=bytearray(b'a')", "s.a[0] = 98", "assert memoryview(s.a)[0] == 97"),
    "string mod dict": ("a={'k': 0}", "s.a['k'] = 1", "assert '%(k)s' % s.a == '0'"),
    "format map": ("a={'k': 0}", "s.a['k'] = 1", "assert '{k}'.format_map(s.a) == '0'"),
    "tuple index": ("a=([0],)", "s.a[0][0] = 1", "assert s.a.count([0]) == 1"),
    "tuple in": ("a=([0],)", "s.a[0][0] = 1", "assert [0] in s.a"),
    "list of gen": ("a=[0]", "s.a.append(1)", "assert list(x for x in s.a) == [0]"),
    "sum gen": ("a=[0]", "s.a.append(1)", "assert sum(x for x in s.a) == 0"),
    "set ops": ("a={0}", "s.a.add(1)", "assert s.a <= {0}"),
    "set method": ("a={0}", "s.a.add(1)", "assert {0, 2}.issuperset(s.a)"),
    "dict items eq": ("a={'k': 0}", "s.a['k'] = 1", "assert list(s.a.items()) == [('k', 0)]"),
    "lambda key": ("a=[Point(0), Point(1)]", "s.a[0].x = 2", "assert max(s.a, key=lambda p: p.x) is s.a[1]"),
    "json": ("a=Point()", "s.a.x = 1", 'assert json.dumps(vars(s.a)) == \'{"x": 0, "y": 0}\''),
    "pickle": ("a=[0]", "s.a[0] = 1", "assert pickle.loads(pickle.dumps(s.a)) == [0]"),
    "deepcopy": ("a=[Point()]", "s.a[0].x = 1", "assert copy.deepcopy(s.a)[0].x == 0"),
    "sorted order": ("a=[Ordered(0), Ordered(1)]", "s.a[0].x = 2", "assert sorted(s.a)[0] is s.a[0]"),
    "dc hash key": ("a=Point()", "s.a.x = 1", "assert {(s.a.x, 0): 1}.get((0, 0)) == 1"),
    "getitem dunder": ("a=[0]", "s.a.__setitem__(0, 1)", "assert s.a.__getitem__(0) == 0"),
    "operator get": ("a=[0]", "operator.setitem(s.a, 0, 1)", "assert operator.getitem(s.a, 0) == 0"),
    "print to": (
        "a=[0]",
        "s.a.append(1)",
        "out = io.StringIO(); print(s.a, file=out); assert out.getvalue() == '[0]\\n'",
    ),
    "global var": ("a=0", "set_global()", "assert G == 0"),
    "module attr": ("a=0", "setattr(me(), 'G', 1)", "assert G == 0"),
    "globals dict": ("a=0", "globals()['G'] = 1", "assert G == 0"),
    "namedtuple": ("a=Pair([0], 1)", "s.a.first[0] = 1", "assert s.a == Pair([0], 1)"),
    "enum": ("a=Color.RED", "s.a = Color.BLUE", "assert s.a == Color.RED"),
    "del attr": ("a=1", "del s.a", "assert hasattr(s, 'a')"),
    "dict pop": ("a={'k': 1}", "s.a.pop('k')", "assert 'k' in s.a"),
    "walrus": ("a=1", "s.a = 2", "assert (t := s.a) == 1"),
    "cached prop": ("v=1", "s.v = 2", "assert s.cached == 1"),
    "lru": ("v=1", "s.v = 2", "assert lru(s) == 1"),
    "gen shared": ("a=iter([1, 2])", "next(s.a)", "assert next(s.a) == 1"),
    "str translate": ("a={97: 'b'}", "s.a[97] = 'c'", "assert 'a'.translate(s.a) == 'b'"),
    "int call": ("a=Num(0)", "s.a.v = 1", "assert int(s.a) == 0"),
    "slots": ("a=Slot(0)", "s.a.x = 1", "assert s.a.x == 0"),
    "descriptor": ("a=1", "s.d = 5", "assert s.d == 0"),
    "sub list": ("a=MyList([0])", "s.a[0] = 1", "assert s.a == [0]"),
    "sub dict": ("a=MyDict(k=0)", "s.a.k = 1", "assert s.a.k == 0"),
    "str dataclass in list": ("a=[Point()]", "s.a[0].x = 1", "assert str(s.a) == '[Point(x=0, y=0)]'"),
    "zip star": ("a=[[0], [1]]", "s.a[0][0] = 5", "assert list(zip(*s.a)) == [(0, 1)]"),
    "sum lists": ("a=[[0], [1]]", "s.a[0][0] = 5", "assert sum(s.a, []) == [0, 1]"),
    "dict of pairs": ("a=[['k', 0]]", "s.a[0][1] = 5", "assert dict(s.a) == {'k': 0}"),
    "unpack nested": ("a=[[0, 1]]", "s.a[0][1] = 5", "for x, y in s.a: assert y == 1"),
    "aug attr": ("n=0", "s.n += 1", "s.n += 1; dpor.join_all(); assert s.n == 2"),
    "aug item": ("a=[0]", "s.a[0] += 1", "s.a[0] += 1; dpor.join_all(); assert s.a[0] == 2"),
    "comp cond": ("a=[0]", "s.a[0] = 1", "assert [x for x in [1] if s.a[0] == 0]"),
    "ternary": ("a=0", "s.a = 1", "assert (1 if s.a == 0 else 0)"),
    "chained assign": ("a=0, b=0", "s.a = s.b = 1", "assert not (s.a == 0 and s.b == 1)"),
    "with stmt": ("a=0", "s.a = 1", "with contextlib.suppress(KeyError):\n        assert s.a == 0"),
    "delete item": ("a=[0]", "del s.a[0]", "assert len(s.a) == 1"),
    "default arg": ("a=[0]", "s.a.append(1)", "assert (lambda x=s.a: x[-1])() == 0"),
    "setdefault": ("a={}", "s.a.setdefault('k', 1)", "assert 'k' not in s.a"),
    "defaultdict": ("a=collections.defaultdict(list)", "s.a['k'].append(1)", "assert s.a['k'] == []"),
    "ordereddict": (
        "a=collections.OrderedDict(k=1, l=2)",
        "s.a.move_to_end('k')",
        "assert list(s.a) == ['k', 'l']",
    ),
    "chainmap": ("a=collections.ChainMap({'k': 0})", "s.a['k'] = 1", "assert s.a['k'] == 0"),
    "userdict": ("a=collections.UserDict(k=0)", "s.a['k'] = 1", "assert s.a['k'] == 0"),
    "array": ("a=array.array('i', [0])", "s.a[0] = 1", "assert s.a[0] == 0"),
    "fraction": ("a=1", "s.a = 2", "assert fractions.Fraction(s.a) == 1"),
    "instance truth": ("a=Sized([0])", "s.a.items.clear()", "assert s.a"),
    "instance contains": ("a=Sized([0])", "s.a.items.clear()", "assert 0 in s.a"),
    "instance iter": ("a=Sized([0])", "s.a.items.clear()", "assert list(s.a) == [0]"),
    "instance len": ("a=Sized([0])", "s.a.items.clear()", "assert len(s.a) == 1"),
    "instance call": ("a=Sized([0])", "s.a.items.clear()", "assert s.a() == [0]"),
    "reversed list": ("a=[0, 1]", "s.a[0] = 2", "assert list(reversed(s.a)) == [1, 0]"),
    "divmod": ("a=Num(0)", "s.a.v = 1", "assert s.a + 1 == 1"),
    "total": ("a=[0]", "s.a.insert(0, 1)", "assert s.a[0] == 0"),
    "ne": ("a=[0]", "s.a.insert(0, 1)", "assert not s.a != [0]"),
    "lt": ("a=[0]", "s.a.insert(0, 1)", "assert s.a < [1]"),
    "fstring attr": ("a=[0]", "s.a.insert(0, 1)", "assert f'{s.a[0]}' == '0'"),
    "fstring fmt": ("a=3", "s.a = 5", "assert f'{1:{s.a}}' == '  1'"),
    "await like": ("a=[0]", "s.a.clear()", "assert [*map(str, s.a)] == ['0']"),
    "setcomp": ("a=[0]", "s.a.append(1)", "assert {x for x in s.a} == {0}"),
    "dictcomp": ("a=[0]", "s.a.append(1)", "assert {x: 1 for x in s.a} == {0: 1}"),
    "in dict values": ("a={'k': 0}", "s.a['k'] = 1", "assert 0 in s.a.values()"),
    "tuple call": ("a=[0]", "s.a.append(1)", "assert tuple(s.a) == (0,)"),
    "isdisjoint": ("a={0}", "s.a.add(1)", "assert s.a.isdisjoint([1])"),
    "raise from": (
        "a=0",
        "s.a = 1",
        "try:\n        if s.a: raise ValueError\n    except ValueError:\n        assert False",
    ),
    "type new": ("a=0", "s.a = 1", "assert type('T', (), {'v': s.a}).v == 0"),
    "slice obj": ("a=[0, 1]", "s.a.pop()", "assert s.a[slice(None)] == [0, 1]"),
    "neg index": ("a=[0, 1]", "s.a.append(2)", "assert s.a[-1] == 1"),
    "del slice": ("a=[0, 1]", "del s.a[1:]", "assert len(s.a) == 2"),
    "string io": ("a=io.StringIO()", "s.a.write('x')", "assert s.a.getvalue() == ''"),
    "func attr": ("a=0", "func.n = 1", "assert func.n == 0"),
    "weakvalue": ("a=weakref.WeakValueDictionary(), k=Point2()", "s.a['k'] = s.k", "assert 'k' not in s.a"),
    "weakkey": ("a=weakref.WeakKeyDictionary(), k=Point2()", "s.a[s.k] = 1", "assert len(s.a) == 0"),
    "weakset": ("a=weakref.WeakSet(), k=Point2()", "s.a.add(s.k)", "assert len(s.a) == 0"),
    "proxy": ("b={'k': 0}", "s.b['k'] = 1", "assert types.MappingProxyType(s.b)['k'] == 0"),
    "pack into": ("a=bytearray(1)", "struct.pack_into('B', s.a, 0, 1)", "assert s.a[0] == 0"),
    "shuffle": ("a=[0, 1, 2, 3]", "s.a[0] = 9; random.shuffle(s.a)", "b = s.a[0]; assert b == s.a[0]"),
    "hashlib": ("a=hashlib.md5()", "s.a.update(b'x')", "assert s.a.hexdigest() == hashlib.md5().hexdigest()"),
    "etree": ("a=ET.Element('a')", "s.a.append(ET.Element('b'))", "assert len(s.a) == 0"),
    "etree set": ("a=ET.Element('a')", "s.a.set('k', 'v')", "assert s.a.get('k') is None"),
    "meta": ("a=0", "WithMeta.n = 1", "assert WithMeta().n == 0"),
    "eq user": ("a=[Key(0)]", "s.a[0].k = 1", "assert s.a == [Key(0)]"),
    "in user": ("a=[Key(0)]", "s.a[0].k = 1", "assert Key(0) in s.a"),
    "sorted user": ("a=[Key(0), Key(1)]", "s.a[0].k = 2", "assert sorted(s.a)[0] is s.a[0]"),
    "dict user": ("a={Key(0): 1}, b=Key(0)", "s.b.k = 1", "assert s.a.get(s.b) == 1"),
    "set user": ("a={Key(0)}, b=Key(0)", "s.b.k = 1", "assert s.b in s.a"),
    "classmethod": ("a=0", "Cls.add(1)", "assert Cls.items == []"),
    "staticmethod": ("a=0", "Cls.put(1)", "assert Cls.items == []"),
    "inherit": ("a=Derived()", "s.a.set()", "assert s.a.v == 0"),
    "dyn": ("a=Dyn()", "s.a.x = 1", "assert s.a.x == 0"),
    "getattribute": ("a=GA()", "s.a.v = 1", "assert s.a.v == 0"),
    "ctx": ("n=0", "s.n = 5", "with Ctx(s) as n: assert n == 0"),
    "gen attr": ("n=0", "s.n = 5", "assert list(gen_(s)) == [0, 0]"),
    "gen torn": ("n=0", "s.n = 5", "assert list(gen_(s)) in ([0, 0], [5, 5])"),
    "slots dict": ("a=Slots2()", "s.a.a = 1", "assert not hasattr(s.a, 'a')"),
    "typednt": ("a=NT([0])", "s.a.a.append(1)", "assert s.a == NT([0])"),
    "wrapper attr": ("f=deco(func)", "s.f()", "assert s.f.calls == 0"),
    "desc2": ("a=HasDesc()", "s.a.d = 1", "assert s.a.d == 0"),
    "frozen set": ("a=Frozen()", "object.__setattr__(s.a, 'x', 1)", "assert s.a.x == 0"),
    "ior": ("a={}", "s.a |= {'k': 1}", "assert s.a == {}"),
    "isub": ("a={1}", "s.a -= {1}", "assert s.a == {1}"),
    "list init": ("a=[0]", "s.a.__init__([1])", "assert s.a == [0]"),
    "list clear": ("a=[0]", "s.a.clear()", "assert s.a"),
    "count next": ("a=itertools.count()", "next(s.a)", "assert next(s.a) == 0"),
    "cycle": ("a=itertools.cycle([0, 1])", "next(s.a)", "assert next(s.a) == 0"),
    # Advanced by two threads at once, a generator raises ValueError.
    "gen send": (
        "a=(x for x in [0, 1])",
        "with contextlib.suppress(ValueError): next(s.a)",
        "with contextlib.suppress(ValueError): assert next(s.a) == 0",
    ),
    "while loop": ("n=0", "s.n = 1", "i = 0\n    while s.n == 0 and i < 2: i += 1\n    assert i == 2"),
    "try finally": ("n=0", "s.n = 1", "try:\n        pass\n    finally:\n        assert s.n == 0"),
    "decimal": ("a=decimal.Decimal(0)", "s.a += 1", "assert s.a == 0"),
    "string template": ("a={'k': 0}", "s.a['k'] = 1", "assert string.Template('$k').substitute(s.a) == '0'"),
    "re sub": ("n=0", "s.n = 1", "assert re.sub('x', lambda m: str(s.n), 'x') == '0'"),
    "thread custom": ("a=threading.Thread(target=func)", "s.a.foo = 1", "assert not hasattr(s.a, 'foo')"),
    "annotated": ("a=0", "s.a: int = 1", "assert s.a == 0"),
    "tuple target": ("a=0, b=0", "s.a, s.b = 1, 2", "assert s.b == 0"),
    "for target": ("a=0", "for s.a in [1]: pass", "assert s.a == 0"),
    "with target": ("a=0", "with contextlib.nullcontext(1) as s.a: pass", "assert s.a == 0"),
    "star target": ("a=0", "*s.a, b = 1, 2", "assert s.a == 0"),
    "import target": ("a=0", "s.a = __import__('math')", "assert s.a == 0"),
    "nested fn": ("a=0", "(lambda: setattr(s, 'a', 1))()", "assert s.a == 0"),
    "partialmethod": ("a=[]", "functools.partial(s.a.append, 1)()", "assert s.a == []"),
    "partial list": ("a=[]", "functools.partial(list.append, s.a)(1)", "assert s.a == []"),
    "bound list": ("a=[]", "f = s.a.append; f(1)", "assert s.a == []"),
    "map append": ("a=[]", "list(map(s.a.append, [1]))", "assert s.a == []"),
    "starargs dict": ("a={'x': 1}", "s.a['x'] = 2", "assert Point(**s.a).x == 1"),
    "dict merge": ("a={'x': 1}", "s.a['x'] = 2", "assert {**s.a} == {'x': 1}"),
    "lt objects": ("a=Ordered(0)", "s.a.x = 3", "assert s.a < Ordered(1)"),
    "hash dc": ("a=HashDC(0)", "s.a.x = 3", "assert {HashDC(0): 1}.get(s.a) == 1"),
    "dc replace": ("a=Point()", "s.a.x = 3", "assert dataclasses.replace(s.a, y=1).x == 0"),
    "dc fields": (
        "a=Point()",
        "s.a.x = 3",
        "assert [getattr(s.a, f.name) for f in dataclasses.fields(s.a)] == [0, 0]",
    ),
    "str obj": ("a=StrObj()", "s.a.v = 3", "assert str(s.a) == '0'"),
    "format obj": ("a=StrObj()", "s.a.v = 3", "assert f'{s.a}' == '0'"),
    "int index": ("a=[0, 1], i=Idx()", "s.i.v = 1", "assert s.a[s.i] == 0"),
    "str subclass": ("a=0", "s.a = 1", "assert StrSub(s.a) == '0'"),
    "enum attr": ("a=0", "Color.RED.extra = 1", "assert not hasattr(Color.RED, 'extra')"),
    "deque iter": ("a=collections.deque([0])", "s.a[0] = 1", "assert [x for x in s.a] == [0]"),
    "deque rotate": ("a=collections.deque([0, 1])", "s.a.rotate()", "assert s.a[0] == 0"),
    "counter mc": (
        "a=collections.Counter('ab')",
        "s.a.update('bb')",
        "assert s.a.most_common(1)[0][0] == 'a'",
    ),
    "od popitem": ("a=collections.OrderedDict(k=1)", "s.a.popitem()", "assert 'k' in s.a"),
    "dd missing": ("a=collections.defaultdict(int)", "s.a['k'] += 1", "assert len(s.a) == 0"),
    "setattr loop": (
        "a=Point()",
        "for k in ('x', 'y'): setattr(s.a, k, 1)",
        "assert (s.a.x, s.a.y) in ((0, 0), (1, 1))",
    ),
    "global list": ("a=0", "GL.append(1)", "assert GL == []"),
    "global dict item": ("a=0", "GD['k'] = 1", "assert GD == {}"),
    "default mutable": ("a=0", "mut(1)", "assert mut() == []"),
    "property set": ("a=Prop()", "s.a.v = 1", "assert s.a.v == 0"),
    "delattr builtin": ("a=Point()", "s.a.z = 1; delattr(s.a, 'z')", "assert not hasattr(s.a, 'z')"),
    "async gen": ("n=0", "s.n = 1", "assert (lambda: s.n)() == 0"),
    "comp nested": ("a=[[0]]", "s.a[0][0] = 1", "assert [y for x in s.a for y in x] == [0]"),
    "set pop": ("a={1}", "s.a.pop()", "assert s.a == {1}"),
    "bytes join": ("a=[b'a']", "s.a.append(b'b')", "assert b''.join(s.a) == b'a'"),
    "int from": ("a=bytearray(b'a')", "s.a[0] = 98", "assert int.from_bytes(s.a, 'big') == 97"),
    "bytes of": ("a=bytearray(b'a')", "s.a[0] = 98", "assert s.a.decode() == 'a'"),
    "writelines": (
        "a=['a']",
        "s.a.append('b')",
        "o = io.StringIO(); o.writelines(s.a); assert o.getvalue() == 'a'",
    ),
    "l2": ("a=L2([0])", "s.a[0] = 1", "assert s.a[0] == 0"),
    "l2 append": ("a=L2([0])", "s.a.append(1)", "assert len(s.a) == 1"),
    "d2": ("a=D2()", "s.a['k'] = 1", "assert s.a['k'] == 0"),
    "seq in": ("a=Seq([0])", "s.a.d[0] = 1", "assert 0 in s.a"),
    "seq iter": ("a=Seq([0])", "s.a.d[0] = 1", "assert list(s.a) == [0]"),
    "seq index": ("a=Seq([0])", "s.a.d[0] = 1", "try: s.a.index(0)\n    except ValueError: assert False"),
    "map set": ("a=Map()", "s.a['k'] = 1", "assert 'k' not in s.a"),
    "map update": ("a=Map()", "s.a.update(k=1)", "assert s.a.get('k') is None"),
    # An insertion in the middle makes the comparison raise.
    "map eq": (
        "a=Map()",
        "s.a['k'] = 1",
        "with contextlib.suppress(RuntimeError): assert s.a == {}",
    ),
    "map items": ("a=Map(k=0)", "s.a['k'] = 1", "assert list(s.a.items()) == [('k', 0)]"),
    "map setdefault": ("a=Map()", "s.a.setdefault('k', 1)", "assert len(s.a) == 0"),
    "it": ("n=0, k=0", "s.n = 1", "assert list(It(s)) == [1, 2]"),
    "cm": ("n=0", "s.n = 1", "with cm(s) as n: assert n == 0"),
    "metaprop": ("n=0", "WM._t = 1", "assert WM.total == 0"),
    "psub": ("a=PSub()", "s.a.v = 1", "assert s.a.v == 0"),
    "mix": ("a=Mix2()", "Mix2.z = 1", "assert s.a.f() == 0"),
    "node": ("a=Node(0)", "s.a.next = Node(1)", "assert s.a.next is None"),
    "inner": ("n=0", "Inner.Deep.n = 1", "assert Inner.Deep.n == 0"),
    "nested dc": ("a=Nested(Point())", "s.a.p.x = 1", "assert s.a == Nested(Point())"),
    "nested dc tags": (
        "a=Nested(Point())",
        "s.a.tags.append(1)",
        "assert repr(s.a) == 'Nested(p=Point(x=0, y=0), tags=[])'",
    ),
    "classvar": ("a=WithCV()", "WithCV.total += 1", "assert s.a.total == 0"),
    "post init": ("a=None", "s.a = Initvar(1, 2)", "assert s.a is None or s.a.z == 3"),
    "total ordering": ("a=TO(0)", "s.a.v = 5", "assert s.a <= TO(1)"),
    "lenonly": ("a=LenOnly()", "s.a.items.append(1)", "assert not s.a"),
    "lenonly bool": ("a=LenOnly()", "s.a.items.append(1)", "assert bool(s.a) is False"),
    "radd": ("a=Num2(0)", "s.a.v = 1", "assert 1 + s.a == 1"),
    "sum radd": ("a=Num2(0)", "s.a.v = 1", "assert sum([s.a]) == 0"),
    "mul": ("a=Num2(0)", "s.a.v = 1", "assert s.a * 1 == 0"),
    "float": ("a=Num2(0)", "s.a.v = 1", "assert float(s.a) == 0"),
    "abs": ("a=Num2(0)", "s.a.v = 1", "assert abs(s.a) == 0"),
    "neg": ("a=Num2(0)", "s.a.v = 1", "assert -s.a == 0"),
    "round": ("a=Num2(0)", "s.a.v = 1", "assert round(s.a) == 0"),
    "fmt": ("a=Num2(0)", "s.a.v = 1", "assert f'{s.a:d}' == '0'"),
    "fmt2": ("a=Num2(0)", "s.a.v = 1", "assert '{:d}'.format(s.a) == '0'"),
    "bytes": ("a=Num2(0)", "s.a.v = 1", "assert bytes(s.a) == b'\\0'"),
    "with": ("a=Num2(0)", "s.a.v = 1", "with s.a as v: assert v == 0"),
    "iadd": ("a=Num2(0)", "s.a += 1", "assert s.a.v == 0"),
    "getitem": ("a=Num2(0)", "s.a.v = 1", "assert s.a['x'] == 0"),
    "contains": ("a=Num2(0)", "s.a.v = 1", "assert 0 in s.a"),
    "call": ("a=Num2(0)", "s.a.v = 1", "assert s.a() == 0"),
    "copy": ("a=Num2(0)", "s.a.v = 1", "assert copy.copy(s.a).v == 0"),
    "divmod again": ("a=Num2(0)", "s.a.v = 1", "assert divmod(s.a, 2) == (0, 0)"),
    "reversed": ("a=Num2(0)", "s.a.v = 1", "assert list(reversed(s.a)) == [0]"),
    "closure get": ("f=counter()", "s.f[0]()", "assert s.f[1]() == 0"),
    "closure lost": ("f=counter()", "s.f[0]()", "s.f[0](); dpor.join_all(); assert s.f[1]() == 2"),
    "recursion": ("n=0", "s.n = 1", "assert deep(5, s) == 0"),
    "singleton": ("a=None", "s.a = Singleton()", "b = Singleton(); dpor.join_all(); assert s.a is b"),
    "init subclass": ("n=0", "type('Q', (Reg,), {})", "assert len(Reg.subs) == 0"),
    "lru method": ("a=LRU()", "s.a.n = 1", "assert s.a.get(0) == 0"),
    "exitstack": (
        "n=0",
        "s.n = 1",
        "with contextlib.ExitStack() as st:\n        v = st.enter_context(cm(s))\n        assert v == 0",
    ),
    "local": ("a=threading.local()", "s.a.x = 1; s.n = 1", "assert not hasattr(s.a, 'x') and s.n == 0"),
    "barrier": ("b=threading.Barrier(2)", "s.n = 1; s.b.wait()", "assert s.n == 0; s.b.wait()"),
    "queue join": ("q=queue.Queue()", "s.q.put(1)", "assert s.q.empty()"),
    "pq": ("q=queue.PriorityQueue()", "s.q.put(1)", "assert s.q.qsize() == 0"),
    "lifo": ("q=queue.LifoQueue()", "s.q.put(1)", "assert s.q.qsize() == 0"),
    "simpleq": ("q=queue.SimpleQueue()", "s.q.put(1)", "assert s.q.empty()"),
    "event": ("e=threading.Event()", "s.e.set()", "assert not s.e.is_set()"),
    "lock locked": ("l=threading.Lock()", "s.l.acquire()", "assert not s.l.locked()"),
    "cond notify": (
        "c=threading.Condition()",
        "with s.c: s.n = 1; s.c.notify()",
        "with s.c: assert s.n == 0",
    ),
    "is alive": (
        "n=0",
        "s.n = 1",
        "t = threading.Thread(target=lambda: None); t.start(); assert t.is_alive()",
    ),
    "sleep read": ("n=0", "time.sleep(1); s.n = 1", "time.sleep(2); assert s.n == 1"),
    "monotonic": ("n=0", "s.n = time.monotonic()", "a = s.n; b = s.n; assert a == b"),
    "lambda default": ("n=0", "s.n = 1", "f = lambda: s.n; assert f() == 0"),
    "comp filter": ("a=[1, 2]", "s.a[0] = 5", "assert [x for x in s.a if x < 3] == [1, 2]"),
    "gen zip": ("a=[1, 2]", "s.a[0] = 5", "assert dict(zip('ab', s.a)) == {'a': 1, 'b': 2}"),
    "starred assign": ("a=[1, 2]", "s.a[1] = 5", "x, *y = s.a; assert y == [2]"),
    "nested unpack": ("a=[(1, [2])]", "s.a[0][1][0] = 5", "[(x, [y])] = s.a; assert y == 2"),
    "aug slice": ("a=[1, 2]", "s.a[0:1] += [5]", "assert s.a == [1, 2]"),
    "dict view and": ("a={'k': 1}", "s.a['l'] = 2", "assert s.a.keys() & {'l'} == set()"),
    "dict view len": ("a={'k': 1}", "s.a['l'] = 2", "assert len(s.a.keys()) == 1"),
    "dict view in": ("a={'k': 1}", "s.a['l'] = 2", "assert 'l' not in s.a.keys()"),
    "dict view eq": ("a={'k': 1}", "s.a['l'] = 2", "assert s.a.keys() == {'k'}"),
    "kept view": ("a={'k': 1}, v=None", "s.a['l'] = 2", "v = s.a.values(); assert list(v) == [1]"),
    "dict or": ("a={'k': 1}", "s.a['l'] = 2", "assert s.a | {} == {'k': 1}"),
    "set or": ("a={1}", "s.a.add(2)", "assert s.a | set() == {1}"),
    "str of set": ("a={1}", "s.a.add(2)", "assert str(s.a) == '{1}'"),
    "ord cmp": ("a=[1]", "s.a[0] = 0", "assert (s.a > [0]) is True"),
    "min two": ("a=[1], b=[2]", "s.a[0] = 3", "assert min(s.a, s.b) is s.a"),
    "print end": (
        "a=[1]",
        "s.a[0] = 3",
        "o = io.StringIO(); print(*s.a, file=o); assert o.getvalue() == '1\\n'",
    ),
    "assert msg": ("a=[1]", "s.a[0] = 3", "assert s.a[0] == 1, f'{s.a}'"),
    "id is": ("a=[1]", "s.a = [1]", "x = s.a; assert x is s.a"),
    "type is": ("a=1", "s.a = 'x'", "assert type(s.a) is int"),
    "isinstance": ("a=1", "s.a = 'x'", "assert isinstance(s.a, int)"),
    "callable": ("a=None", "s.a = print", "assert not callable(s.a)"),
    "getattr default": ("n=0", "s.zz = 1", "assert getattr(s, 'zz', None) is None"),
    "try attr": (
        "n=0",
        "s.zz = 1",
        "try:\n        s.zz\n        assert False\n    except AttributeError: pass",
    ),
    "dict get default": ("a={}", "s.a['k'] = 1", "assert s.a.get('k', 0) == 0"),
    "try key": (
        "a={}",
        "s.a['k'] = 1",
        "try:\n        s.a['k']\n        assert False\n    except KeyError: pass",
    ),
    "try index": (
        "a=[]",
        "s.a.append(1)",
        "try:\n        s.a[0]\n        assert False\n    except IndexError: pass",
    ),
    "neg idx": ("a=[1]", "s.a.append(2)", "assert s.a[-1] == 1"),
    "slice read": ("a=[1]", "s.a.append(2)", "assert s.a[:2] == [1]"),
    "del attr again": ("z=1", "del s.z", "assert hasattr(s, 'z')"),
    "list mul": ("a=[1]", "s.a.append(2)", "assert s.a * 1 == [1]"),
    "list rmul": ("a=[1]", "s.a.append(2)", "assert 1 * s.a == [1]"),
    "list add": ("a=[1]", "s.a.append(2)", "assert s.a + [] == [1]"),
    "list radd": ("a=[1]", "s.a.append(2)", "assert [] + s.a == [1]"),
    "tuple list": ("a=[1]", "s.a.append(2)", "assert (*s.a,) == (1,)"),
    "set list": ("a=[1]", "s.a.append(2)", "assert {*s.a} == {1}"),
    "fn star": ("a=[1]", "s.a.append(2)", "assert max(*s.a, 0) == 1"),
    "any gen": ("a=[0]", "s.a[0] = 1", "assert not any(x for x in s.a)"),
    "all gen": ("a=[1]", "s.a[0] = 0", "assert all(x for x in s.a)"),
    "next gen": ("a=[1]", "s.a[0] = 0", "assert next(x for x in s.a) == 1"),
    "next iter": ("a=[1]", "s.a[0] = 0", "assert next(iter(s.a)) == 1"),
    "str mod tuple": ("a=[1]", "s.a[0] = 0", "assert '%s %s' % (1, s.a) == '1 [1]'"),
    "repr inst": ("a=Num2(0)", "s.a.v = 1", "assert s.a == 0"),
    "bit": ("n=0", "s.n |= 4", "assert s.n & 4 == 0"),
    "walrus while": ("n=3", "s.n = 0", "c = 0\n    while (k := s.n) > c: c += 1\n    assert c == 3"),
    "global aug": ("n=0", "bump()", "bump(); dpor.join_all(); assert GG[0] == 2"),
    "ctxvar set": ("n=0", "s.n = 1", "assert s.n == 0"),
}


# What fails without the other thread too: both have to have done something.
OF_TWO = {
    "aug attr",
    "aug item",
    "barrier",
    "closure lost",
    "global aug",
    "is alive",
    "singleton",
    "sleep read",
}


# Not the default one, which the first test below takes; each treats reads in a way of its own.
WAYS = {
    "value-centric": {"algorithm": "value-centric"},
    "reads-from": {"algorithm": "graph", "partition": "rf"},
    "rc11": {"algorithm": "graph", "memory_model": "rc11"},
    "tso": {"memory_model": "tso"},
}


def check(folder: Path, name: str, write: str, **options: str) -> ModelResult:
    fields, _, failing = CASES[name]
    model = MODEL.format(before=BEFORE.get(name, "pass"), fields=fields, write=write, check=failing)
    file = folder / "model.py"
    file.write_text(HEADER.read_text(encoding="utf-8") + model, encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
def test_it_is_seen(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, name, CASES[name][1])
    assert result.verdict is Verdict.VIOLATED
    assert result.violations[0].kind is ViolationKind.ASSERTION


@pytest.mark.share(8)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_it_is_seen_or_refused_in_other_ways(tmp_path: Path, name: str, way: str) -> None:
    try:
        result = check(tmp_path, name, CASES[name][1], **WAYS[way])
    except DporError as error:
        if error.code is not Code.UNSUPPORTED_PAIR:
            raise
        return
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.share(8)
@pytest.mark.parametrize("name", [name for name in CASES if name not in OF_TWO])
def test_nothing_is_broken_without_the_other_thread(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, name, "pass").verdict is Verdict.VERIFIED
