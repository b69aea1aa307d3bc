"""What a program changes of the process: seen by other threads, named or refused, and gone in the next execution."""

from __future__ import annotations

import _tracemalloc
import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

Check = Callable[..., Any]

BEFORE = """
import atexit, calendar, codecs, copyreg, cProfile, decimal, faulthandler, gc, gettext, importlib, linecache
import locale, profile, re, readline, resource, signal, socket, sqlite3, sys, threading, time
import tracemalloc, typing, warnings, _thread, builtins, ctypes, zoneinfo

class Own: pass

class Lines:
    def get_source(self, name):
        return "a line"

@typing.overload
def overloaded(): ...

def overloaded(): ...

def adapted():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("select ?", (Own(),)).fetchone()
"""


def assumed(result: ModelResult) -> set[tuple[AssumptionKind, str]]:
    """What a verdict rests on, but for the module that records the outcomes and the ends of connections."""
    return {
        (one.kind, one.subject)
        for one in result.assumptions
        if one.subject != "outside_sink" and one.kind is not AssumptionKind.OBJECT_END
    }


KEPT = {
    "sys.modules": ("'fake' in sys.modules", "sys.modules['fake'] = sys"),
    "a module that is taken away": ("'calendar' in sys.modules", "del sys.modules['calendar']"),
    "sys.path_hooks": ("None in sys.path_hooks", "sys.path_hooks.append(None)"),
    "gc.callbacks": ("len in gc.callbacks", "gc.callbacks.append(len)"),
    "linecache.cache": ("'none' in linecache.cache", "linecache.cache['none'] = (1, None, ['a'], 'none')"),
    "re._cache": ("'none' in re._cache", "re._cache['none'] = 1"),
    "an adapter": ("attempt(adapted)", "sqlite3.register_adapter(Own, lambda own: 1)"),
    "a converter": ("'MINE' in sqlite3.converters", "sqlite3.register_converter('mine', len)"),
    "an adapter and a converter": (
        "(attempt(adapted), 'MINE' in sqlite3.converters)",
        "sqlite3.register_converter('mine', len); sqlite3.register_adapter(Own, lambda own: 1)",
    ),
    "the first day of the week": ("calendar.firstweekday()", "calendar.setfirstweekday(3)"),
    "an attribute of a calendar": ("calendar.c.firstweekday", "calendar.c.firstweekday = 3"),
    "a calendar": ("calendar.c.firstweekday", "calendar.c.setfirstweekday(3)"),
    "the precision of decimals": ("decimal.DefaultContext.prec", "decimal.DefaultContext.prec = 3"),
    "the table of pickle": ("Own in copyreg.dispatch_table", "copyreg.pickle(Own, len)"),
    "a limit of tracebacks": ("getattr(sys, 'tracebacklimit', 9)", "sys.tracebacklimit = 1"),
    "the folder of messages": ("gettext.bindtextdomain('mine')", "gettext.bindtextdomain('mine', '/mine')"),
    "the domain of messages": ("gettext.textdomain()", "gettext.textdomain('mine')"),
    "the locale": ("locale.setlocale(locale.LC_TIME)", "locale.setlocale(locale.LC_TIME, 'C.UTF-8')"),
    "lines that are loaded when asked for": (
        "linecache.getline('none', 1)",
        "linecache.lazycache('none', {'__name__': 'none', '__loader__': Lines()})",
    ),
    "overloads": ("typing.get_overloads(adapted)", "typing.overload(adapted)"),
    "overloads that are cleared": ("typing.get_overloads(overloaded)", "typing.clear_overloads()"),
    "the size of stacks": ("threading.stack_size()", "_thread.stack_size(1 << 20)"),
    "the value that was shown last": ("hasattr(builtins, '_')", "sys.displayhook(7)"),
    "the function that translates": ("hasattr(builtins, '_')", "gettext.install('mine')"),
    "the time zone": (
        "(time.localtime(0)[3:5], time.timezone, time.tzname)",
        "os.environ.__setitem__('TZ', 'NST3:30NDT'); time.tzset()",
    ),
    "the deepest recursion": ("sys.getrecursionlimit()", "sys.setrecursionlimit(5000)"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_one_thread_alone_changes_is_gone_in_the_next_execution(check: Check, name: str) -> None:
    look, change = KEPT[name]
    begin = f"before = {look}; {change}; assert ({look}) != before"
    found, result = check("dpor.choose(range(3))\nreturn None", "None", "None", before=BEFORE, begin=begin)
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 3
    assert assumed(result) == set()
    assert found == {((None, None), None)}


def test_what_is_changed_after_all_threads_were_joined_is_no_assumption(check: Check) -> None:
    final = "sys.modules.__setitem__('fake', sys), sqlite3.register_adapter(Own, len), 'fake' in sys.modules"
    found, result = check("dpor.choose(range(3))\nreturn None", "None", final, before=BEFORE)
    assert assumed(result) == set()
    assert found == {((None, None), (None, None, True))}


NAMED = {
    "builtins.sorted": "setattr(sys.modules['builtins'], 'sorted', min)",
    "copyreg.dispatch_table": "copyreg.pickle(Own, len)",
    "decimal.DefaultContext.prec": "decimal.DefaultContext.prec = 3",
    "sys.stderr": "sys.stderr = None",
    "sys.tracebacklimit": "sys.tracebacklimit = 1",
    "warnings.filters": "warnings.simplefilter('error')",
    "warnings.showwarning": "warnings.showwarning = len",
    "sys.modules": "sys.modules['fake'] = sys",
    "gc.callbacks": "gc.callbacks.append(len)",
    "sys.path_hooks": "sys.path_hooks.clear()",
    "linecache.cache": "linecache.cache.clear()",
}


@pytest.mark.parametrize("name", NAMED)
def test_what_modules_use_unseen_is_an_assumption_beside_threads(check: Check, name: str) -> None:
    _, result = check(f"{NAMED[name]}\nreturn None", "import json\nreturn None", "None", before=BEFORE)
    assert assumed(result) == {(AssumptionKind.CHANGED_DEFINITION, name)}


def test_what_code_in_c_uses_of_a_module_is_one_too_when_another_check_has_had_it_instrumented(
    check: Check,
) -> None:
    read = "return str(warnings.formatwarning(shared, UserWarning, 'a', 1))"
    check(read, "shared.append(1)\nreturn None", "None", before=f"{BEFORE}\nshared = []")
    _, result = check("warnings.showwarning = len\nreturn None", "return None", "None", before=BEFORE)
    assert assumed(result) == {(AssumptionKind.CHANGED_DEFINITION, "warnings.showwarning")}


SETTINGS = {
    "gettext.textdomain": "'mine'",
    "locale.setlocale": "locale.LC_ALL, 'C'",
    "socket.setdefaulttimeout": "5",
    "sys.setrecursionlimit": "5000",
    "sys.set_int_max_str_digits": "9000",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_code_reads_unseen_is_an_assumption_beside_threads(check: Check, name: str) -> None:
    _, result = check(f"{name}({SETTINGS[name]}) and None", "None", "None", before=BEFORE)
    assert assumed(result) == {(AssumptionKind.CHANGED_DEFINITION, f"what {name} sets")}


CHANGED_UNSEEN = {
    "re.purge()": "the cache of re",
    "gettext.install('mine')": "builtins._",
    "importlib.reload(calendar) and None": "what a module that is reloaded defines",
    "linecache.clearcache()": "linecache.cache",
    "linecache.checkcache('none')": "linecache.cache",
}


@pytest.mark.parametrize("call", CHANGED_UNSEEN)
def test_what_a_function_of_the_library_changes_unseen_is_an_assumption_beside_threads(
    check: Check, call: str
) -> None:
    _, result = check(call, "None", "None", before=BEFORE)
    assert assumed(result) == {(AssumptionKind.CHANGED_DEFINITION, CHANGED_UNSEEN[call])}


def test_a_variable_that_is_set_beside_threads_is_shared_state_and_no_assumption(check: Check) -> None:
    found, result = check(
        "os.environ['MINE'] = '1'\nreturn None", "return os.environ.get('MINE')", "None", before="import os"
    )
    assert found == {((None, None), None), ((None, "1"), None)}
    assert assumed(result) == set()


NEW_YORK, TOKYO = (
    "os.environ.__setitem__('TZ', 'EST5'); time.tzset()",
    "os.environ.__setitem__('TZ', 'JST-9')",
)
needs_tzset = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system has no time.tzset")


@needs_tzset
def test_a_time_zone_that_is_set_beside_threads_is_an_assumption(check: Check) -> None:
    _, result = check(f"{NEW_YORK}\nreturn None", "None", "None", before=BEFORE)
    assert assumed(result) == {(AssumptionKind.CHANGED_DEFINITION, "the time zone")}


@needs_tzset
def test_a_time_zone_follows_the_variable_only_when_it_is_set(check: Check) -> None:
    begin = f"{NEW_YORK}; was = time.timezone; {TOKYO}; still = time.timezone; time.tzset()"
    found, _ = check(
        "dpor.choose(range(2))\nreturn None",
        "None",
        "was, still, time.timezone, datetime.datetime.fromtimestamp(0).hour",
        before=f"{BEFORE}\nimport datetime",
        begin=f"global was, still; {begin}",
    )
    assert found == {((None, None), (18000, 18000, -32400, 9))}


@needs_tzset
def test_a_time_zone_is_that_of_the_environment_of_c_code(check: Check) -> None:
    begin = "os.putenv('TZ', 'EST5'); time.tzset(); put = time.timezone; os.unsetenv('TZ'); time.tzset()"
    found, _ = check("return None", "None", "put, time.timezone", before=BEFORE, begin=f"global put; {begin}")
    assert found == {((None, None), (18000, 0))}


@needs_tzset
def test_a_module_that_sets_the_time_zone_does_so_for_every_execution(check: Check) -> None:
    before = (time.timezone, os.environ.get("TZ"))
    found, _ = check(
        "dpor.choose(range(2))\nreturn time.timezone",
        "None",
        f"{TOKYO}, time.tzset(), time.timezone",
        before=f"{BEFORE}\nimport os\n{NEW_YORK}",
    )
    assert found == {((18000, None), (None, None, -32400))}
    assert (time.timezone, os.environ.get("TZ")) == before


def test_a_traceback_empties_no_cache_of_the_program(check: Check) -> None:
    _, result = check(
        "traceback.format_stack() and None", "None", "None", before=f"{BEFORE}\nimport traceback"
    )
    assert not assumed(result)


def test_lines_of_a_file_are_those_that_the_program_has_written(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""import linecache
import dpor

@dpor.model
def model():
    with open("written.txt", "w") as file:
        file.write("a\\nb\\n")
    assert linecache.getline("written.txt", 2) == "b\\n"
""")
    assert check_model(CheckRequest(str(path), "model", str(tmp_path))).verdict is Verdict.VERIFIED


REFUSED = {
    "codecs.register(len)": r"codecs\.register",
    "cProfile.Profile().enable()": r"cProfile\.Profile\.enable",
    "profile.run('1')": r"sys\.setprofile",
    "faulthandler.enable()": r"faulthandler\.enable",
    "gc.freeze()": r"gc\.freeze",
    "readline.add_history('a')": r"readline\.add_history",
    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))": r"resource\.setrlimit",
    "signal.set_wakeup_fd(-1)": r"signal\.set_wakeup_fd",
    "sqlite3.enable_callback_tracebacks(True)": r"sqlite3\.enable_callback_tracebacks",
    "sqlite3.register_adapter(Own, len)": r"sqlite3\.register_adapter",
    "sys.addaudithook(len)": r"sys\.addaudithook",
    "sys.set_asyncgen_hooks(None)": r"sys\.set_asyncgen_hooks",
    "os.register_at_fork(before=len)": r"os\.register_at_fork",
    "sys.setdlopenflags(2)": r"sys\.setdlopenflags",
    "sys.setprofile(None)": r"sys\.setprofile",
    "sys.settrace(None)": r"sys\.settrace",
    "threading.setprofile(None)": r"threading\.setprofile",
    "threading.settrace(None)": r"threading\.settrace",
    "tracemalloc.start()": r"tracemalloc\.start",
    "zoneinfo.ZoneInfo.clear_cache()": r"zoneinfo\.ZoneInfo\.clear_cache",
    "type('Zone', (zoneinfo.ZoneInfo,), {}).clear_cache()": r"zoneinfo\.ZoneInfo\.clear_cache",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_other_threads_and_executions_could_find_unseen_is_refused(check: Check, call: str) -> None:
    with pytest.raises(DporError, match=REFUSED[call]) as caught:
        check(call, "None", "None", before=BEFORE)
    assert caught.value.code is Code.UNCONTROLLED


LATE = """
import codecs, csv, sqlite3

class Late: pass

csv.register_dialect("late", delimiter=";")
sqlite3.register_adapter(Late, lambda late: 1)
codecs.register_error("late", codecs.ignore_errors)
"""


def test_what_a_module_registers_when_it_is_imported_stays(check: Check, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    first = "dpor.choose(range(3))\nimport csv, late\nreturn tuple(next(csv.reader(['a;b'], 'late')))"
    final = "sqlite3.connect(':memory:').execute('select ?', (sys.modules['late'].Late(),)).fetchone()"
    found, _ = check(first, "None", final, before=BEFORE)
    assert found == {((("a", "b"), None), (1,))}


def test_a_warning_is_shown_once_in_each_execution(check: Check) -> None:
    caught = (
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('default')\n"
        "    for _ in range(2): warnings.warn('w')\n"
        "dpor.choose(range(3))\n"
        "return len(caught)"
    )
    found, _ = check(caught, "None", "None", before=BEFORE)
    assert found == {((1, None), None)}


CONTEXTS = (
    "decimal.localcontext(decimal.ExtendedContext) and None",
    "decimal.BasicContext.create_decimal('1')",
    "decimal.ExtendedContext.is_nan(decimal.Decimal(1))",
)

CLASS_METHODS = (
    "dict.fromkeys('a') and type('Mine', (dict,), {}).fromkeys('a') and None",
    "(int.from_bytes(b'a', 'big'), bytes.fromhex('aa'), str.maketrans('a', 'b')) and None",
    "decimal.Decimal.from_float(1.5) and None",
    "(Own.mro(), Own.__subclasses__()) and None",
    "ctypes.c_char_p.from_param(b'a') and None",
    "zoneinfo.ZoneInfo.no_cache('UTC') and None",
)


@pytest.mark.parametrize(
    "call", [*CONTEXTS, *CLASS_METHODS, "tracemalloc.is_tracing()", "gc.get_freeze_count()", "sys.gettrace()"]
)
def test_what_only_tells_is_not_refused(check: Check, call: str) -> None:
    _, result = check(call, "None", "None", before=BEFORE)
    assert result.verdict is Verdict.VERIFIED


def test_what_is_registered_for_the_end_of_the_process_never_runs_and_is_named(check: Check) -> None:
    _, result = check(
        "atexit.register(adapted) and None", "atexit.unregister(adapted)", "None", before=BEFORE
    )
    assert assumed(result) == {(AssumptionKind.UNRUN_AT_EXIT, "adapted")}


def test_what_the_library_registers_for_itself_is_not_named(check: Check) -> None:
    _, result = check("tempfile.TemporaryDirectory().cleanup()", "None", "None")
    assert AssumptionKind.UNRUN_AT_EXIT not in {kind for kind, _ in assumed(result)}


def test_a_module_that_a_check_imports_has_its_own_functions_afterwards(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        monkeypatch.delitem(sys.modules, "tracemalloc", raising=False)
        with pytest.raises(DporError, match=r"tracemalloc\.start"):
            check("import tracemalloc\ntracemalloc.start()", "None", "None")
        assert vars(importlib.import_module("tracemalloc"))["start"] is _tracemalloc.start
        assert isinstance(_tracemalloc.start, BuiltinFunctionType)
