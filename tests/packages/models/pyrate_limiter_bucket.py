"""A bucket for one item takes two."""

import threading

from pyrate_limiter import Duration, InMemoryBucket, Rate, RateItem

import dpor


@dpor.model(instrument=("pyrate_limiter",))
def model() -> None:
    bucket = InMemoryBucket([Rate(1, Duration.SECOND)])
    taken: list[bool] = []
    threads = [
        threading.Thread(target=lambda: taken.append(bucket.put(RateItem("item", 100)))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(True) == 1
