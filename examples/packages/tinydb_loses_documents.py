"""TinyDB: two threads insert, and one document disappears or gets the other's number.

TinyDB's `insert` reads the whole table, adds the document and writes the table back. Two threads that both
read before either writes leave only one of the documents, and both may take the same next document id.
TinyDB does not claim to support threads; people find out by losing data:
https://github.com/msiemens/tinydb/issues/450 and https://github.com/msiemens/tinydb/issues/91.

The fix is one lock around every use of the database.
"""

import threading

import tinydb
from tinydb.storages import MemoryStorage

import dpor


@dpor.model(expect="violated", instrument=("tinydb",))
def inserts_lost(threads: int = 2):
    """Insert from several threads."""
    table = tinydb.TinyDB(storage=MemoryStorage).table("people")
    for number in range(threads):
        dpor.spawn(table.insert, {"number": number})
    dpor.join_all()
    assert len(table) == threads


@dpor.model(expect="verified", instrument=("tinydb",))
def inserts_locked(threads: int = 2):
    """The same with a lock around `insert`."""
    table = tinydb.TinyDB(storage=MemoryStorage).table("people")
    lock = threading.Lock()

    def insert(document):
        with lock:
            table.insert(document)

    for number in range(threads):
        dpor.spawn(insert, {"number": number})
    dpor.join_all()
    assert len(table) == threads
