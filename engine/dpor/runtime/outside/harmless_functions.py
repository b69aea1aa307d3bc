"""Which functions in C of the standard library leave the process as it is, and which have a description of their own.

Whatever is not here is refused in an execution: also what is new in a version of Python, until it is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

_COMPUTE = """
    _ast _bisect _blake2 _bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw
    _collections _contextvars _crypt _datetime _functools _hashlib _heapq _hmac _json _lzma _md5 _multibytecodec
    _opcode _operator _pickle _queue _random _sha1 _sha2 _sha256 _sha3 _sha512 _sre _stat _statistics _string
    _struct _suggestions _symtable _sysconfig _tokenize _types _typing _zoneinfo _zstd array audioop binascii
    cmath errno itertools marshal math pyexpat unicodedata zlib
"""
# The system's tables of users, which no program of Python changes.
_TELL = "_uuid grp pwd spwd"
# The kernel or stand-ins of other rooms see what these do; `_imp` is the import system's own.
_DESCRIBED = "_abc _asyncio _imp _io _thread _warnings _weakref builtins"

WHOLE = frozenset(f"{_COMPUTE} {_TELL} {_DESCRIBED}".split())
"""Modules all of whose functions leave the process as it is, or have a description."""

_OF_THE_SYSTEM = """
    WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG _findfirstfile
    _getdiskusage _getfinalpathname _getfullpathname _getvolumepathname _path_exists _path_isdevdrive
    _path_isdir _path_isfile _path_isjunction _path_islink _path_lexists _path_normpath _path_splitroot
    _path_splitroot_ex _supports_virtual_terminal confstr cpu_count ctermid device_encoding fspath
    get_handle_inheritable get_terminal_size getegid geteuid getgid getgrouplist getgroups getlogin getpgid
    getpgrp getpid getppid getpriority getresgid getresuid getsid getuid listdrives listmounts listvolumes major
    makedev minor sched_get_priority_max sched_get_priority_min sched_getaffinity
    sched_getparam sched_getscheduler sched_rr_get_interval sched_yield strerror sync sysconf tcgetpgrp uname
    waitstatus_to_exitcode
"""
# What the environment, the draws and the audit events see to, which say more than can be said here.
_OF_THE_SYSTEM_SEEN = """
    execv execve fork forkpty kill killpg posix_spawn posix_spawnp putenv spawnv spawnve startfile system
    unsetenv urandom wait wait3 wait4 waitid waitpid
"""

FUNCTIONS: Mapping[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "_codecs": """
            ascii_decode ascii_encode charmap_build charmap_decode charmap_encode code_page_decode
            code_page_encode decode encode escape_decode escape_encode latin_1_decode latin_1_encode lookup
            lookup_error mbcs_decode mbcs_encode oem_decode oem_encode raw_unicode_escape_decode
            raw_unicode_escape_encode readbuffer_encode unicode_escape_decode unicode_escape_encode
            utf_16_be_decode utf_16_be_encode utf_16_decode utf_16_encode utf_16_ex_decode utf_16_le_decode
            utf_16_le_encode utf_32_be_decode utf_32_be_encode utf_32_decode utf_32_encode utf_32_ex_decode
            utf_32_le_decode utf_32_le_encode utf_7_decode utf_7_encode utf_8_decode utf_8_encode
        """,
        "_csv": "get_dialect list_dialects reader writer",
        "_ctypes": """
            CopyComPointer FormatError POINTER PyObj_FromPtr addressof alignment buffer_info byref dlopen dlsym
            get_errno get_last_error pointer resize sizeof
        """,
        "_decimal": "IEEEContext getcontext localcontext setcontext",
        "_elementtree": "SubElement",
        "_locale": """
            _getdefaultlocale dcgettext dgettext getencoding gettext localeconv nl_langinfo setlocale strcoll strxfrm
        """,
        "_signal": "default_int_handler getitimer getsignal signal sigpending strsignal valid_signals",
        "_socket": """
            CMSG_LEN CMSG_SPACE getaddrinfo getdefaulttimeout gethostbyaddr gethostbyname gethostbyname_ex
            gethostname getnameinfo getprotobyname getservbyname getservbyport htonl htons if_indextoname
            if_nameindex if_nametoindex inet_aton inet_ntoa inet_ntop inet_pton ntohl ntohs setdefaulttimeout
        """,
        "_sqlite3": "adapt complete_statement connect",
        "_ssl": "RAND_status get_default_verify_paths nid2obj txt2obj",
        "_tracemalloc": """
            _get_object_traceback _get_traces get_traceback_limit get_traced_memory get_tracemalloc_memory
            is_tracing
        """,
        "atexit": "",
        "faulthandler": "is_enabled",
        # Audit events tell of each, and of those that change limits.
        "fcntl": "fcntl flock ioctl lockf",
        "gc": """
            collect disable enable get_count get_debug get_freeze_count get_objects get_referents get_referrers
            get_stats get_threshold is_finalized is_tracked isenabled set_debug set_threshold
        """,
        "posix": _OF_THE_SYSTEM + _OF_THE_SYSTEM_SEEN,
        "nt": _OF_THE_SYSTEM + _OF_THE_SYSTEM_SEEN,
        # They matter to somebody who types, for whom no model can wait.
        "readline": "parse_and_bind set_completer set_completer_delims",
        "resource": "getpagesize getrlimit getrusage prlimit setrlimit",
        "select": "",
        "sys": """
            __breakpointhook__ __displayhook__ __excepthook__ __unraisablehook__ _baserepl
            _clear_internal_caches _clear_type_cache _current_exceptions _current_frames _debugmallocstats
            _get_cpu_count_config _getframe _getframemodulename _getquickenedcount _is_gil_enabled _is_immortal
            _is_interned audit breakpointhook displayhook exc_info excepthook exception exit get_asyncgen_hooks
            get_coroutine_origin_tracking_depth get_int_max_str_digits getallocatedblocks getandroidapilevel
            getdefaultencoding getdlopenflags getfilesystemencoding getfilesystemencodeerrors getprofile
            getrecursionlimit getrefcount getsizeof getswitchinterval gettrace getunicodeinternedsize
            getwindowsversion intern is_finalizing is_remote_debug_enabled is_stack_trampoline_active
            set_coroutine_origin_tracking_depth set_int_max_str_digits setrecursionlimit setswitchinterval
            unraisablehook
        """,
        "time": """
            asctime clock_getres clock_gettime clock_gettime_ns ctime get_clock_info gmtime localtime mktime
            monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns
            pthread_getcpuclockid sleep strftime strptime thread_time thread_time_ns time time_ns
        """,
    }.items()
}
"""The same for single functions, by module. Of modules that are in neither, every function is refused."""

TOOLS: Mapping[str, frozenset[str]] = {
    "sys": frozenset(
        [
            "_setprofileallthreads",
            "_settraceallthreads",
            "call_tracing",
            "set_asyncgen_hooks",
            "setprofile",
            "settrace",
        ]
    ),
}
"""Functions by which debuggers, profilers and event loops watch a program: refused if instrumented code calls them."""
