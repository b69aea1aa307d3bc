"""Models that lock files."""

from __future__ import annotations

# `body` is that of the model, `options` are its options.
PROGRAM = """
import fcntl, gc, os, tempfile, threading
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
import dpor

def use(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

def opened(flags=os.O_RDWR):
    return os.open("a", flags)

def tries(file, operation):
    try:
        flock(file, operation | LOCK_NB)
    except BlockingIOError:
        return False
    return True

@dpor.model({options})
def model():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.close(os.open("a", os.O_CREAT | os.O_RDWR))
{body}
"""
