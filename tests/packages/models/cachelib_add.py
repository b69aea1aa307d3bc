"""Two threads that add one key are both told that they have."""

import threading

from cachelib.simple import SimpleCache

import dpor


@dpor.model(instrument=("cachelib",))
def model() -> None:
    cache = SimpleCache()
    added: list[bool] = []
    threads = [threading.Thread(target=lambda: added.append(cache.add("key", 1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added.count(True) == 1
