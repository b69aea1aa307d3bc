"""To clear the cache of lines while it is checked raises KeyError there."""

import linecache
import threading

import dpor


@dpor.model(instrument=("linecache",))
def model() -> None:
    linecache.getline(__file__, 1)
    thread = threading.Thread(target=linecache.clearcache)
    thread.start()
    linecache.checkcache()
    thread.join()
