"""Two threads that ask for the only lock of a file get two."""

import threading

from filelock import FileLock

import dpor


@dpor.model(instrument=("filelock",))
def model() -> None:
    made: list[FileLock] = []
    threads = [
        threading.Thread(target=lambda: made.append(FileLock("some.lock", is_singleton=True)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0] is made[1]
