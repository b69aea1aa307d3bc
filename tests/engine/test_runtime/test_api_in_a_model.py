"""The model API inside a check, on the fake kernel."""

from __future__ import annotations

import threading

import pytest
from fake_kernel import Explore, passes

import dpor


def test_join_all_joins_what_the_thread_itself_has_spawned(explore: Explore) -> None:
    def model() -> None:
        done: list[str] = []

        def child() -> None:
            dpor.spawn(done.append, "grandchild")
            dpor.join_all()
            done.append("child")

        thread = dpor.spawn(child)
        assert isinstance(thread, threading.Thread)
        dpor.join_all()
        dpor.join_all()
        assert done == ["grandchild", "child"]

    passes(explore(model))


def test_choices_are_enumerated(explore: Explore) -> None:
    seen: list[object] = []

    def model() -> None:
        seen.append((dpor.choose("ab"), dpor.choose([1, 2]), dpor.choose(range(2))))

    passes(explore(model))
    assert len(seen) == len(set(seen)) == 8


def test_assume_blocks_and_wait_until_waits(explore: Explore) -> None:
    def model() -> None:
        flags: list[int] = []
        dpor.spawn(flags.append, dpor.choose([1, 2]))
        dpor.wait_until(lambda: flags)
        dpor.assume(flags == [1])

    outcomes = passes(explore(model))
    assert {tuple(outcome.blocked) for outcome in outcomes} == {(), ("main",)}


def test_a_model_that_is_called_again_begins_afresh(explore: Explore) -> None:
    names: set[str] = set()

    def model() -> None:
        names.add(dpor.spawn(int).name)
        dpor.join_all()

    passes(explore(model))
    assert names == {"Thread-1 (int)"}


def test_a_fence_takes_an_order(explore: Explore) -> None:
    def model() -> None:
        dpor.fence()
        with pytest.raises(ValueError, match="not one of"):
            dpor.fence("strong")

    passes(explore(model))
