"""Event loops of threads, and policies, as asyncio has them."""

import asyncio
import threading
import warnings

from outcomes import outcome

import dpor

EXPECTED = {
    "the_main_thread_gets_a_loop_once": "verified",
    "a_loop_that_was_taken_away_is_not_made_again": ["RuntimeError"],
    "no_loop_after_run": ["RuntimeError"],
    "no_loop_in_another_thread": "verified",
    "a_thread_has_the_loop_that_it_sets": "verified",
    "what_is_no_loop_is_refused": ["TypeError TypeError"],
    "a_policy_that_is_set_makes_the_loops": ["2 True"],
    "a_policy_of_ones_own": "verified",
    "a_policy_does_not_outlive_an_execution": "verified",
    "a_policy_that_another_thread_sets": ["False", "True"],
    "loops_by_their_class": "verified",
    "debug_mode_can_be_asked_for": "verified",
    "tasks_are_what_asyncio_says": "verified",
}
COUNTS = {"a_policy_that_is_set_makes_the_loops": (1, 0), "a_policy_that_another_thread_sets": (2, 0)}


def get_event_loop():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return asyncio.get_event_loop()


def failure_of(function, *args):
    try:
        function(*args)
    except Exception as error:
        return type(error).__name__
    return "nothing"


@dpor.model
def the_main_thread_gets_a_loop_once():
    loop = get_event_loop()
    assert get_event_loop() is loop
    assert isinstance(loop, asyncio.AbstractEventLoop)
    loop.close()


@dpor.model
def a_loop_that_was_taken_away_is_not_made_again():
    get_event_loop().close()
    asyncio.set_event_loop(None)
    outcome(failure_of(get_event_loop))


@dpor.model
def no_loop_after_run():
    asyncio.run(asyncio.sleep(0))
    outcome(failure_of(get_event_loop))


@dpor.model
def no_loop_in_another_thread():
    found = []

    def ask():
        try:
            get_event_loop()
        except RuntimeError as error:
            found.append(str(error))

    thread = threading.Thread(target=ask, name="named")
    thread.start()
    thread.join()
    assert found == ["There is no current event loop in thread 'named'."]


@dpor.model
def a_thread_has_the_loop_that_it_sets():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def other():
        own = asyncio.new_event_loop()
        asyncio.set_event_loop(own)
        assert get_event_loop() is own
        own.close()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert get_event_loop() is loop
    loop.close()


@dpor.model
def what_is_no_loop_is_refused():
    outcome(failure_of(asyncio.set_event_loop, 3), failure_of(asyncio.set_event_loop_policy, 3))


class Counting(asyncio.DefaultEventLoopPolicy):
    def __init__(self):
        super().__init__()
        self.made = 0

    def new_event_loop(self):
        self.made += 1
        return super().new_event_loop()


@dpor.model
def a_policy_that_is_set_makes_the_loops():
    policy = Counting()
    asyncio.set_event_loop_policy(policy)
    for _ in range(2):
        asyncio.run(asyncio.sleep(0))
    outcome(policy.made, asyncio.get_event_loop_policy() is policy)


class OneForAll(asyncio.AbstractEventLoopPolicy):
    loop = None

    def get_event_loop(self):
        return self.loop

    def set_event_loop(self, loop):
        self.loop = loop

    def new_event_loop(self):
        return asyncio.SelectorEventLoop()


@dpor.model
def a_policy_of_ones_own():
    asyncio.set_event_loop_policy(OneForAll())
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    thread = threading.Thread(target=lambda: asyncio.get_event_loop().close())
    thread.start()
    thread.join()
    assert loop.is_closed()
    asyncio.set_event_loop_policy(None)
    assert isinstance(asyncio.get_event_loop_policy(), asyncio.DefaultEventLoopPolicy)


@dpor.model
def a_policy_does_not_outlive_an_execution():
    assert not isinstance(asyncio.get_event_loop_policy(), Counting)
    dpor.choose((1, 2))
    asyncio.set_event_loop_policy(Counting())


@dpor.model
def a_policy_that_another_thread_sets():
    policy = Counting()
    thread = threading.Thread(target=asyncio.set_event_loop_policy, args=(policy,))
    thread.start()
    outcome(asyncio.get_event_loop_policy() is policy)
    thread.join()


@dpor.model
def loops_by_their_class():
    class Own(asyncio.SelectorEventLoop):
        pass

    for kind in (asyncio.SelectorEventLoop, Own):
        loop = kind()
        assert isinstance(loop, asyncio.SelectorEventLoop)
        assert isinstance(loop, asyncio.BaseEventLoop)
        assert loop.run_until_complete(asyncio.sleep(0, 5)) == 5
        loop.close()
    assert type(loop) is Own
    loop = asyncio.new_event_loop()
    assert repr(loop).endswith("SelectorEventLoop running=False closed=False debug=False>")
    loop.close()


@dpor.model
async def tasks_are_what_asyncio_says():
    task, future = asyncio.current_task(), asyncio.get_running_loop().create_future()
    assert type(task) is asyncio.Task
    assert type(future) is asyncio.Future
    assert isinstance(task, asyncio.Future)
    assert not isinstance(future, asyncio.Task)
    assert (type(task).__name__, type(task).__module__) == ("Task", "_asyncio")
    assert repr(future) == "<Future pending>"
    assert len({task, future}) == 2


@dpor.model
def debug_mode_can_be_asked_for():
    async def asks():
        return asyncio.get_running_loop().get_debug()

    assert asyncio.run(asks(), debug=True)
    assert not asyncio.run(asks(), debug=False)
