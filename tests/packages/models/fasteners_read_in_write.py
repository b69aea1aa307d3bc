"""A writer that asks for the read lock, too, waits behind a second writer, which waits for it."""

import threading

from fasteners import ReaderWriterLock

import dpor


@dpor.model(instrument=("fasteners",))
def model() -> None:
    lock = ReaderWriterLock()

    def write() -> None:
        with lock.write_lock():
            pass

    thread = threading.Thread(target=write)
    thread.start()
    with lock.write_lock(), lock.read_lock():
        pass
    thread.join()
