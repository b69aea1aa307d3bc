"""threading.Lock, RLock, Semaphore and BoundedSemaphore."""

import threading

from outcomes import outcome

import dpor

EXPECTED = {
    "mutual_exclusion": "verified",
    "try_acquire": ["0", "1", "2"],
    "timed_acquire": ["False", "True"],
    "timed_acquire_of_a_free_lock": ["True"],
    "timed_acquire_of_a_lock_that_is_kept": ["False"],
    "lock_twice": ["deadlock"],
    "rlock_twice": "verified",
    "rlock_is_free_after_as_many_releases": "verified",
    "lock_released_by_another_thread": "verified",
    "rlock_released_by_another_thread": ["DPOR204 RuntimeError: cannot release un-acquired lock"],
    "release_of_a_free_lock": ["DPOR204 RuntimeError: release unlocked lock"],
    "release_of_a_free_rlock": ["DPOR204 RuntimeError: cannot release un-acquired lock"],
    "misuse_that_is_caught": "verified",
    "bad_arguments": "verified",
    "locked": ["False", "True"],
    "lock_kept_by_a_thread_that_ended": ["deadlock"],
    "semaphore_admits_as_many_as_it_counts": "verified",
    "semaphore_of_two_admits_two": ["1", "2"],
    "semaphore_released_above_its_start": "verified",
    "semaphore_releases_several": "verified",
    "semaphore_times_out": ["False", "True"],
    "semaphore_try_acquire": "verified",
    "bounded_semaphore_released_above_its_start": ["DPOR204 ValueError: Semaphore released too many times"],
    "bad_semaphores": "verified",
    "opposite_order": ["deadlock", "ended"],
}
COUNTS = {
    "mutual_exclusion": (6, 0),
    "lock_twice": (0, 1),
    "rlock_twice": (1, 0),
    "timed_acquire_of_a_free_lock": (1, 0),
    "timed_acquire_of_a_lock_that_is_kept": (1, 0),
    "opposite_order": (2, 1),
    "semaphore_admits_as_many_as_it_counts": (2, 0),
}


@dpor.model
def mutual_exclusion():
    lock, inside = threading.Lock(), []

    def enter(number):
        with lock:
            inside.append(number)
            assert inside == [number]
            inside.remove(number)

    for number in range(3):
        dpor.spawn(enter, number)
    dpor.join_all()


@dpor.model
def try_acquire():
    lock, got = threading.Lock(), []

    def attempt():
        if lock.acquire(blocking=False):
            got.append(1)
            lock.release()

    lock.acquire()
    dpor.spawn(attempt)
    dpor.spawn(attempt)
    lock.release()
    dpor.join_all()
    outcome(len(got))


@dpor.model
def timed_acquire():
    lock, got = threading.Lock(), []
    lock.acquire()
    thread = dpor.spawn(lambda: got.append(lock.acquire(timeout=1)))
    lock.release()
    thread.join()
    outcome(got[0])


@dpor.model
def timed_acquire_of_a_free_lock():
    outcome(threading.Lock().acquire(timeout=1))


@dpor.model
def timed_acquire_of_a_lock_that_is_kept():
    lock = threading.Lock()
    lock.acquire()
    outcome(lock.acquire(True, 0.1))


@dpor.model
def lock_twice():
    lock = threading.Lock()
    with lock, lock:
        pass


@dpor.model
def rlock_twice():
    lock = threading.RLock()
    with lock, lock:
        assert lock.acquire(blocking=False)
        lock.release()


@dpor.model
def rlock_is_free_after_as_many_releases():
    lock, got = threading.RLock(), []
    lock.acquire()
    lock.acquire()
    lock.release()
    dpor.spawn(lambda: got.append(lock.acquire(blocking=False)))
    dpor.join_all()
    lock.release()
    assert got == [False]
    dpor.spawn(lambda: got.append(lock.acquire(blocking=False)))
    dpor.join_all()
    assert got == [False, True]


@dpor.model
def lock_released_by_another_thread():
    lock = threading.Lock()
    lock.acquire()
    dpor.spawn(lock.release)
    with lock:
        pass
    dpor.join_all()


@dpor.model
def rlock_released_by_another_thread():
    lock = threading.RLock()
    lock.acquire()
    dpor.spawn(lock.release)
    dpor.join_all()


@dpor.model
def release_of_a_free_lock():
    threading.Lock().release()


@dpor.model
def release_of_a_free_rlock():
    threading.RLock().release()


@dpor.model
def misuse_that_is_caught():
    try:
        threading.Lock().release()
    except RuntimeError:
        return
    raise AssertionError("no error")


@dpor.model
def bad_arguments():
    lock = threading.Lock()
    for arguments in ({"blocking": False, "timeout": 1}, {"timeout": -2}):
        try:
            lock.acquire(**arguments)
        except ValueError:
            continue
        raise AssertionError(arguments)


@dpor.model
def locked():
    lock = threading.Lock()

    def hold():
        with lock:
            pass

    thread = dpor.spawn(hold)
    seen = lock.locked()
    thread.join()
    outcome(seen)


@dpor.model
def lock_kept_by_a_thread_that_ended():
    lock = threading.Lock()
    dpor.spawn(lock.acquire)
    dpor.join_all()
    lock.acquire()


@dpor.model
def semaphore_admits_as_many_as_it_counts():
    semaphore, inside = threading.Semaphore(1), []

    def enter(number):
        with semaphore:
            inside.append(number)
            assert len(inside) == 1
            inside.remove(number)

    dpor.spawn(enter, 0)
    dpor.spawn(enter, 1)
    dpor.join_all()


@dpor.model
def semaphore_of_two_admits_two():
    semaphore, inside, most = threading.Semaphore(2), [], [0]

    def enter(number):
        with semaphore:
            inside.append(number)
            most[0] = max(most[0], len(inside))
            assert len(inside) <= 2
            inside.remove(number)

    for number in range(2):
        dpor.spawn(enter, number)
    dpor.join_all()
    outcome(most[0])


@dpor.model
def semaphore_released_above_its_start():
    semaphore = threading.Semaphore(0)
    semaphore.release()
    semaphore.release()
    assert semaphore.acquire()
    assert semaphore.acquire()


@dpor.model
def semaphore_releases_several():
    semaphore = threading.Semaphore(0)
    for _ in range(2):
        dpor.spawn(semaphore.acquire)
    semaphore.release(2)
    dpor.join_all()


@dpor.model
def semaphore_times_out():
    semaphore, got = threading.Semaphore(0), []
    thread = dpor.spawn(lambda: got.append(semaphore.acquire(timeout=1)))
    semaphore.release()
    thread.join()
    outcome(got[0])


@dpor.model
def semaphore_try_acquire():
    semaphore = threading.Semaphore(1)
    assert semaphore.acquire(blocking=False)
    assert not semaphore.acquire(blocking=False)


@dpor.model
def bounded_semaphore_released_above_its_start():
    threading.BoundedSemaphore(2).release()


@dpor.model
def bad_semaphores():
    for make in (lambda: threading.Semaphore(-1), lambda: threading.Semaphore(1).release(0)):
        try:
            make()
        except ValueError:
            continue
        raise AssertionError("no error")


@dpor.model
def opposite_order():
    one, other = threading.Lock(), threading.Lock()

    def forwards():
        with one, other:
            pass

    thread = dpor.spawn(forwards)
    with other, one:
        pass
    thread.join()
    outcome("ended")
