"""threading.Thread: life, names, identity, daemons, and threading.local."""

import _thread
import threading

from outcomes import outcome

import dpor

EXPECTED = {
    "join_orders": "verified",
    "join_with_timeout": ["alive", "ended"],
    "is_alive": ["False", "True"],
    "is_alive_before_and_after": "verified",
    "names": "verified",
    "main_thread": "verified",
    "enumerate_counts_the_living": ["1", "2"],
    "idents_differ": "verified",
    "subclass": "verified",
    "subclass_with_an_instance_method": "verified",
    "arguments": "verified",
    "started_twice": ["DPOR202 RuntimeError: threads can only be started once"],
    "joined_before_the_start": ["DPOR202 RuntimeError: cannot join thread before it is started"],
    "joined_by_itself": ["DPOR202 RuntimeError: cannot join current thread"],
    "daemon_left_waiting": "verified",
    "daemons_alone_do_not_keep_others_alive": ["deadlock"],
    "daemon_is_inherited": "verified",
    "daemon_set_too_late": ["DPOR202 RuntimeError: cannot set daemon status of active thread"],
    "thread_left_waiting": ["deadlock"],
    "thread_that_nobody_joins": ["late"],
    "exception_in_a_thread": ["DPOR202 KeyError: 'gone'"],
    "system_exit_ends_a_thread_silently": "verified",
    "assertion_in_a_nested_thread": ["DPOR201 assertion failed: deep"],
    "local_values_are_private": "verified",
    "local_subclass": "verified",
    "low_level_thread": "verified",
    "two_joins_of_one_thread": "verified",
    "excepthook_is_not_asked": ["DPOR202 ValueError: lost"],
}
COUNTS = {"join_orders": (1, 0), "is_alive": (2, 0), "names": (1, 0), "daemon_left_waiting": (1, 0)}


@dpor.model
def join_orders():
    box = []
    thread = threading.Thread(target=box.append, args=(1,))
    thread.start()
    thread.join()
    assert box == [1]


@dpor.model
def join_with_timeout():
    box = []
    thread = threading.Thread(target=lambda: box.append(1))
    thread.start()
    thread.join(timeout=1)
    if thread.is_alive():
        outcome("alive")
    assert box
    outcome("ended")


@dpor.model
def is_alive():
    thread = dpor.spawn(lambda: None)
    outcome(thread.is_alive())


@dpor.model
def is_alive_before_and_after():
    thread = threading.Thread(target=lambda: None)
    assert not thread.is_alive()
    thread.start()
    thread.join()
    assert not thread.is_alive()


@dpor.model
def names():
    def work():
        pass

    assert threading.Thread().name == "Thread-1"
    assert threading.Thread(target=work).name == "Thread-2 (work)"
    assert threading.Thread(name="mine").name == "mine"
    seen = []
    thread = threading.Thread(target=lambda: seen.append(threading.current_thread().name), name="asker")
    thread.start()
    thread.join()
    assert seen == ["asker"]


@dpor.model
def main_thread():
    main = threading.current_thread()
    assert main is threading.main_thread()
    assert main.name == "MainThread"
    assert main.is_alive()
    assert not main.daemon
    seen = []
    dpor.spawn(lambda: seen.append(threading.main_thread()))
    dpor.join_all()
    assert seen == [main]


@dpor.model
def enumerate_counts_the_living():
    dpor.spawn(lambda: None)
    count = threading.active_count()
    outcome(count)


@dpor.model
def idents_differ():
    seen = []
    threads = [dpor.spawn(lambda: seen.append(threading.get_ident())) for _ in range(2)]
    dpor.join_all()
    assert sorted(seen) == sorted(thread.ident for thread in threads)
    assert len({*seen, threading.get_ident()}) == 3


class Worker(threading.Thread):
    def __init__(self, box):
        super().__init__(name="worker", daemon=True)
        self.box = box

    def run(self):
        self.box.append(self.name)


@dpor.model
def subclass():
    box = []
    worker = Worker(box)
    assert worker.daemon
    worker.start()
    worker.join()
    assert box == ["worker"]


class Counter:
    def __init__(self):
        self.value = 0
        self.thread = threading.Thread(target=self.count)

    def count(self):
        self.value += 1


@dpor.model
def subclass_with_an_instance_method():
    counter = Counter()
    counter.thread.start()
    counter.thread.join()
    assert counter.value == 1


@dpor.model
def arguments():
    seen = []

    def work(first, *rest, key, **others):
        seen.append((first, rest, key, others))

    thread = threading.Thread(target=work, args=(1, 2), kwargs={"key": 3, "other": 4})
    thread.start()
    thread.join()
    assert seen == [(1, (2,), 3, {"other": 4})]


@dpor.model
def started_twice():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.start()


@dpor.model
def joined_before_the_start():
    threading.Thread().join()


@dpor.model
def joined_by_itself():
    threading.current_thread().join()


@dpor.model
def daemon_left_waiting():
    event = threading.Event()
    threading.Thread(target=event.wait, daemon=True).start()


@dpor.model
def daemons_alone_do_not_keep_others_alive():
    event = threading.Event()
    threading.Thread(target=event.wait, daemon=True).start()
    event.wait()


@dpor.model
def daemon_is_inherited():
    seen = []

    def outer():
        inner = threading.Thread(target=lambda: None)
        seen.append(inner.daemon)
        inner.start()
        inner.join()

    thread = threading.Thread(target=outer, daemon=True)
    thread.start()
    thread.join()
    assert seen == [True]


@dpor.model
def daemon_set_too_late():
    thread = dpor.spawn(lambda: None)
    thread.daemon = True


@dpor.model
def thread_left_waiting():
    threading.Thread(target=threading.Event().wait).start()


@dpor.model
def thread_that_nobody_joins():
    def work():
        outcome("late")

    threading.Thread(target=work).start()


@dpor.model
def exception_in_a_thread():
    threading.Thread(target=lambda: {}["gone"]).start()


@dpor.model
def system_exit_ends_a_thread_silently():
    def leave():
        raise SystemExit(3)

    dpor.spawn(leave)
    dpor.join_all()


@dpor.model
def assertion_in_a_nested_thread():
    def inner():
        raise AssertionError("deep")

    def outer():
        dpor.spawn(inner)
        dpor.join_all()

    dpor.spawn(outer)
    dpor.join_all()


@dpor.model
def local_values_are_private():
    data, seen = threading.local(), []
    data.value = "main"

    def work(number):
        assert not hasattr(data, "value")
        data.value = number
        seen.append(data.value)

    dpor.spawn(work, 0)
    dpor.spawn(work, 1)
    dpor.join_all()
    assert sorted(seen) == [0, 1]
    assert data.value == "main"


class Numbered(threading.local):
    def __init__(self, start):
        self.value = start

    def bump(self):
        self.value += 1
        return self.value


@dpor.model
def local_subclass():
    data = Numbered(5)
    data.bump()
    seen = []
    dpor.spawn(lambda: seen.append(data.bump()))
    dpor.join_all()
    assert (seen, data.value) == ([6], 6)


@dpor.model
def low_level_thread():
    box, lock = [], _thread.allocate_lock()
    lock.acquire()

    def work():
        box.append(1)
        lock.release()

    _thread.start_new_thread(work, ())
    lock.acquire()
    assert box == [1]


@dpor.model
def two_joins_of_one_thread():
    thread = dpor.spawn(lambda: None)
    other = dpor.spawn(thread.join)
    thread.join()
    other.join()
    thread.join()


@dpor.model
def excepthook_is_not_asked():
    threading.excepthook = lambda arguments: None

    def fail():
        raise ValueError("lost")

    dpor.spawn(fail)
    dpor.join_all()
