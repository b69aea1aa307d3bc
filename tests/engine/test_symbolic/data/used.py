"""What the uses of a number refer to; the text of each model begins with this file."""

import ast
import asyncio
import bisect
import cmath
import colorsys
import contextvars
import copy
import dataclasses
import datetime
import enum
import functools
import heapq
import io
import ipaddress
import itertools
import json
import marshal
import math
import numbers
import operator
import pickle
import queue
import random
import re
import statistics
import string
import struct
import textwrap
import threading
import time
import types
import uuid
import weakref
from array import array
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
import dpor

class Box: pass

class Failure(Exception):
    def __init__(self, number):
        super().__init__(number)
        self.number = number

@dataclasses.dataclass(order=True, frozen=True)
class Point:
    x: int
    y: int

Pair = namedtuple("Pair", ["first", "second"])

class Number(int): pass

class Digit(enum.IntEnum):
    ZERO = 0; ONE = 1; TWO = 2; THREE = 3; FOUR = 4; FIVE = 5; SIX = 6; SEVEN = 7; EIGHT = 8; NINE = 9

class Weekday(enum.Enum):
    SATURDAY = 6
    SUNDAY = 7

class Flags(enum.Flag):
    A = 1; B = 2; C = 4; D = 8

class Vector:
    def __init__(self, x): self.x = x
    def __add__(self, other): return Vector(self.x + other.x)
    def __rmul__(self, other): return Vector(self.x * other)
    def __eq__(self, other): return self.x == other.x
    def __hash__(self): return hash(self.x)
    def __index__(self): return self.x
    def __str__(self): return f"<{self.x}>"

class Positive:
    def __init__(self, n): self.n = n
    def __bool__(self): return self.n > 0
    def __int__(self): return self.n

class Sized:
    def __init__(self, n): self.n = n
    def __len__(self): return self.n

@functools.total_ordering
class Ordered:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == other.n
    def __lt__(self, other): return self.n < other.n

@functools.lru_cache(None)
def squared(m): return m * m

@functools.singledispatch
def dispatched(value): return "other"
@dispatched.register
def _(value: int): return "int"

KEPT = None
