"""Two threads that write to a full cache both make room, and one finds nothing left to take out."""

import threading

from boltons.cacheutils import LRI

import dpor


@dpor.model(instrument=("boltons",))
def model() -> None:
    cache = LRI(max_size=1)
    cache["first"] = 1
    threads = [threading.Thread(target=cache.__setitem__, args=(key, 1)) for key in ("second", "third")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
