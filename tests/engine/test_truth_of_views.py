"""Whether a view is true tells whether what it shows is empty; so does a weak proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

HEADER = """
import collections, types, weakref

class Held(list):
    pass

def over(base, show):
    return base, show(base)
"""
VIEWS = {
    "keys": "over({1: 1}, dict.keys)",
    "values": "over({1: 1}, dict.values)",
    "items": "over({1: 1}, dict.items)",
    "keys in order": "over(collections.OrderedDict({1: 1}), collections.OrderedDict.keys)",
    "counts": "over(collections.Counter('a'), collections.Counter.values)",
    "mapping proxy": "over({1: 1}, types.MappingProxyType)",
    "weak proxy": "over(Held([1]), weakref.proxy)",
}
WAYS = {
    "condition": "1 if s[1] else 2",
    "not": "not s[1]",
    "bool": "bool(s[1])",
    "and": "(s[1] and 1) == 1",
    "filter": "list(filter(None, [s[1]])) != []",
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("way", WAYS)
def test_the_truth_of_a_view_is_that_of_what_it_shows(tmp_path: Path, view: str, way: str) -> None:
    EitherOrder(HEADER, tmp_path).require_both(VIEWS[view], "s[0].clear()", WAYS[way])


def test_a_default_is_given_for_what_the_object_behind_a_proxy_lacks(tmp_path: Path) -> None:
    pair = EitherOrder(HEADER, tmp_path)
    pair.require_both("over(Held([1]), weakref.proxy)", "setattr(s[0], 'x', 1)", "getattr(s[1], 'x', 0)")
