"""Modules of the standard library that are left as they are, and are instrumented once that could be told.

Plain Python says what an expression gives before another thread's change and after it, or what two calls give in either
order. A check must find both.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HEADER = """
import argparse, ast, codecs, fnmatch, gettext, inspect, io, ipaddress, os.path
import linecache, re, textwrap, traceback, types, typing, dpor

class Base:
    pass

class K(Base):
    a: int

def function(a: int):
    pass

class T(gettext.NullTranslations):
    def gettext(self, message):
        return "t"

class Members(ast.NodeVisitor):
    def __init__(self):
        self.names = []

    def visit_Name(self, node):
        self.names.append(node.id)

def both(*functions):
    threads = [dpor.spawn(function) for function in functions]
    for thread in threads:
        thread.join()
"""
# What is shared, what is read of it, and how it is changed.
READ = {
    "a wrapper": ("textwrap.TextWrapper(20)", "len(s.wrap('aa bb cc'))", "setattr(s, 'width', 3)"),
    "translations": ("gettext.NullTranslations()", "s.gettext('m')", "s.add_fallback(T())"),
    "a decoder": ("codecs.BufferedIncrementalDecoder()", "s.getstate()", "setattr(s, 'buffer', b'x')"),
    "a signature that is made anew": ("inspect.signature(function)", "len(s.parameters)", "s.__init__()"),
    "a namespace that names a loader": (
        "{'__name__': 'm'}",
        "(linecache.lazycache('none.py', s), linecache.cache.pop('none.py', None))[0]",
        "s.update(__loader__=types.SimpleNamespace(get_source=str))",
    ),
    "notes": ("ValueError('x')", "len(traceback.format_exception_only(s))", "s.add_note('n')"),
    "an exception that is kept": (
        "traceback.TracebackException.from_exception(ValueError('x'))",
        "len(list(s.format_exception_only()))",
        "setattr(s, '__notes__', ['n'])",
    ),
    "a tree": ("ast.parse('a')", "len(list(ast.walk(s)))", "s.body.append(ast.Pass())"),
    "a tree as text": ("ast.parse('a')", "ast.dump(s).count('Pass')", "s.body.append(ast.Pass())"),
    "a tree that is compiled": (
        "ast.parse('[a]', mode='eval')",
        "len(compile(s, 'f', 'eval').co_names)",
        "s.body.elts.clear()",
    ),
    "a tree that is visited": (
        "ast.parse('a')",
        "(lambda found: (found.visit(s), found.names)[1])(Members())",
        "s.body.append(ast.parse('b').body[0])",
    ),
    "attributes": ("K()", "hasattr(s, 'z') or 'c' in dict(inspect.getmembers(s))", "setattr(s, 'c', 1)"),
    "attributes of a class": ("K()", "'c' in dict(inspect.getmembers(s))", "setattr(K, 'c', 1)"),
    "attributes of a base": ("K", "'c' in dict(inspect.getmembers(s))", "setattr(Base, 'c', 1)"),
    "documentation": ("K", "inspect.getdoc(s)", "setattr(s, '__doc__', 'x')"),
    "annotations of a class": ("K", "'b' in typing.get_type_hints(s)", "s.__annotations__.update(b=int)"),
    "annotations of a function": (
        "function",
        "inspect.signature(s).parameters['a'].annotation is str",
        "s.__annotations__.update(a=str)",
    ),
    "annotations that are replaced": (
        "(lambda: lambda a: a)()",
        "'b' in typing.get_type_hints(s)",
        "setattr(s, '__annotations__', {'b': int})",
    ),
    "arguments": (
        "inspect.signature(function).bind(1)",
        "s.args",
        "s.arguments.update(a=2)",
    ),
    "names": ("['a', 'b']", "fnmatch.filter(s, '*')", "s.append('c')"),
    "paths": ("['ab', 'ac']", "os.path.commonprefix(s)", "s.append('b')"),
    "networks": (
        "[ipaddress.ip_network('10.0.0.0/30'), ipaddress.ip_network('10.0.0.4/30')]",
        "len(list(ipaddress.collapse_addresses(s)))",
        "s.clear()",
    ),
    "bytes": ("bytearray(b'ab')", "re.findall(b'a', s)", "s.clear()"),
}
# What functions of such modules store in what they are given.
STORED = {
    "final": ("K", "typing.final(s) and None", "getattr(s, '__final__', False)"),
    "no type check": ("K()", "typing.no_type_check(s) and None", "getattr(s, '__no_type_check__', False)"),
    "checked at run time": (
        "types.new_class('Has', (typing.Protocol,))",
        "typing.runtime_checkable(s) and None",
        "getattr(s, '_is_runtime_protocol', False)",
    ),
}
# What two threads do with one object.
TAKEN = {
    "lines": ("codecs.getreader('utf-8')(io.BytesIO(b'a\\nb\\n'))", "s.readline()", "s.readline()"),
    "next": ("codecs.getreader('utf-8')(io.BytesIO(b'a\\nb\\n'))", "next(s)", "next(s)"),
    "all lines": ("codecs.getreader('utf-8')(io.BytesIO(b'a\\nb\\n'))", "list(s)", "s.readline()"),
    "an encoder": ("codecs.getincrementalencoder('utf-16')()", "s.encode('a')", "s.encode('b')"),
    "a scanner": (
        "re.Scanner([('a', lambda s, t: s)])",
        "s.scan('a')[1]",
        "setattr(s, 'scanner', re.compile('b'))",
    ),
}


def check(folder: Path, body: str) -> ModelResult:
    path = folder / "model.py"
    path.write_text(f"{HEADER}\n@dpor.model\ndef model():\n{body}")
    return check_model(CheckRequest(str(path), "model", str(folder)))


@pytest.mark.parametrize("name", [*READ, *STORED, *TAKEN])
def test_a_check_finds_what_both_orders_give(tmp_path: Path, name: str) -> None:
    EitherOrder(HEADER, tmp_path).require_both(*{**READ, **STORED, **TAKEN}[name])


def test_a_function_that_takes_items_one_by_one_is_no_single_step(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """
    names, found = ["a", "b"], []
    def change():
        names[0] = "x"
        names[1] = "y"
    both(lambda: found.append(fnmatch.filter(names, "*")), change)
    assert found != [["a", "y"]]
""",
    )
    assert result.verdict is Verdict.VIOLATED, result


ALONE = {
    "typing.cast": "both(lambda: typing.cast(list, s), lambda: s.append(1))",
    "texts": "both(lambda: textwrap.fill('a b', 2), lambda: fnmatch.filter(['a'], '*'))",
    "signatures": "both(lambda: inspect.signature(function), lambda: inspect.signature(function))",
    "own objects": "both(lambda: textwrap.TextWrapper(3).wrap('a b'), lambda: textwrap.TextWrapper(2).wrap('a b'))",
    "patterns": "both(lambda: re.sub('a', 'b', 'a'), lambda: re.compile('b', re.I | re.M))",
    "lines of a file whose module holds something": (
        "both(lambda: linecache.getline('none', 1, {'kept': [s]}), lambda: s.append(1))"
    ),
    "members": "both(lambda: re.RegexFlag(2), lambda: inspect.getmembers(Base))",
}


@pytest.mark.parametrize("name", ALONE)
def test_what_nobody_else_changes_needs_one_execution(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, f"    s = []\n    {ALONE[name]}\n")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)
    assert not result.assumptions


def test_a_parser_of_arguments_in_each_of_two_threads_is_as_cheap_as_before(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """
    def parse():
        parser = argparse.ArgumentParser()
        parser.add_argument("-x")
        parser.parse_args(["-x", "1"])
    both(parse, parse)
""",
    )
    assert result.verdict is Verdict.VERIFIED, result
    assert result.executions <= 6


@pytest.mark.parametrize("where", ["", "    import helper\n"])
def test_a_module_that_decorates_its_functions_can_be_loaded_for_each_execution(
    tmp_path: Path, where: str
) -> None:
    (tmp_path / "helper.py").write_text("""
import abc, typing

class Base(abc.ABC):
    @abc.abstractmethod
    def run(self):
        pass

@typing.final
class Own(Base):
    @typing.no_type_check
    def run(self):
        return 1

# What cannot be put back has the modules loaded afresh.
numbers = iter(range(9))
""")
    body = f"""{where}    assert next(helper.numbers) == 0 and helper.Own().run() == 1
    both(int, int)
    dpor.choose(range(2))
"""
    path = tmp_path / "model.py"
    first = "" if where else "import helper\n"
    path.write_text(f"{HEADER}\n{first}\n@dpor.model\ndef model():\n{body}")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 2
