"""Of two hits at once, a limiter that keeps its numbers in memory counts one."""

import threading

from limits.storage import MemoryStorage

import dpor


@dpor.model(instrument=("limits",))
def model() -> None:
    storage = MemoryStorage()
    threads = [threading.Thread(target=storage.incr, args=("key", 60)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.get("key") == 2
