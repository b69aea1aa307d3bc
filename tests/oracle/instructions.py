"""Which bytecode instructions another thread could notice, told from the code alone.

A return is one of them: what follows may be the rest of a C function that called back.
"""

from __future__ import annotations

import dis
from types import CodeType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_THE_FRAME = _words(
    "BEFORE_ASYNC_WITH CACHE CHECK_EXC_MATCH COPY COPY_FREE_VARS DUP_TOP END_FOR END_SEND EXTENDED_ARG "
    "GET_AWAITABLE JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD KW_NAMES BUILD_TUPLE BUILD_LIST BUILD_SLICE "
    "LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_CLOSURE LOAD_CONST LOAD_CONST_IMMORTAL LOAD_SMALL_INT "
    "LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK "
    "LOAD_FAST_LOAD_FAST LOAD_COMMON_CONSTANT MAKE_CELL MAKE_FUNCTION NOP NOT_TAKEN POP_EXCEPT PRECALL PUSH_EXC_INFO "
    "PUSH_NULL RESUME SET_FUNCTION_ATTRIBUTE SWAP IS_OP POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE "
    "POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE "
    "POP_JUMP_BACKWARD_IF_NOT_NONE"
)
"""They look at nothing but the frame that they run in, and let go of nothing that could notice it."""

_MAY_END_AN_OBJECT = _words(
    "POP_TOP POP_ITER STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_FAST_MAYBE_NULL DELETE_FAST "
    "LIST_APPEND"
)
"""They look at nothing but the frame; what they let go of may notice it, by a destructor or a weak reference."""

_NAMES = _words("LOAD_GLOBAL LOAD_DEREF LOAD_NAME LOAD_CLASSDEREF")
"""They read a variable, which matters only if a thread binds it again."""

_BINDS_NAMES = ("nonlocal", "global", "setattr", "delattr", "vars(", "__dict__", "sys.modules", "second")
_ENDS_OBJECTS = ("weakref", "__del__", "finalize", "del ", "gc.", "Weak", "cache", "getrefcount")


def invisible_in(program: str) -> frozenset[str]:
    """The names of the instructions that no other thread of the program can notice or disturb."""
    found = _OF_THE_FRAME
    if not any(word in program for word in _ENDS_OBJECTS):
        found |= _MAY_END_AN_OBJECT
    if not any(word in program for word in _BINDS_NAMES):
        found |= _NAMES
    return found


def visible(code: CodeType, invisible: frozenset[str]) -> bytes:
    """For each instruction of the code a byte that is 1 if another thread can notice or disturb it."""
    return bytes(dis.opname[operation] not in invisible for operation in code.co_code[::2])
