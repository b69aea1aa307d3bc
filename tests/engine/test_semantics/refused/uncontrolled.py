"""Models that do what no schedule controls."""

import _thread
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading

import dpor

REFUSED = {
    "starts_a_process": "starts a process",
    "runs_a_shell_command": "starts a process",
    "forks": "forks the process",
    "starts_a_multiprocessing_process": "starts a process",
    "makes_a_multiprocessing_lock": "makes a lock between processes",
    "connects_a_socket": "connects a socket",
    "looks_up_a_host": "looks up a network address",
    "waits_for_a_signal": "waits for a signal",
    "makes_a_pipe": "makes a pipe",
    "uses_a_lock_made_before_the_check": "imported before the check began",
    "starts_a_thread_in_c": "operating system thread",
    "in_a_thread": "starts a process",
    "caught_by_the_model": "starts a process",
}


@dpor.model
def starts_a_process():
    subprocess.run([sys.executable, "-c", ""], check=True)


@dpor.model
def runs_a_shell_command():
    os.system("true")


@dpor.model
def forks():
    if os.fork() == 0:
        os._exit(0)


@dpor.model
def starts_a_multiprocessing_process():
    multiprocessing.Process(target=print).start()


@dpor.model
def makes_a_multiprocessing_lock():
    multiprocessing.Lock()


@dpor.model
def connects_a_socket():
    with socket.socket() as connection:
        connection.connect(("127.0.0.1", 9))


@dpor.model
def looks_up_a_host():
    socket.getaddrinfo("localhost", 80)


@dpor.model
def waits_for_a_signal():
    signal.sigwait([signal.SIGUSR1])


@dpor.model
def makes_a_pipe():
    reader, writer = os.pipe()
    try:
        os.read(reader, 1)
    finally:
        os.close(reader)
        os.close(writer)


@dpor.model
def uses_a_lock_made_before_the_check():
    threading._allocate_lock()


@dpor.model
def starts_a_thread_in_c():
    import ctypes

    # A detached thread that ends by itself, started behind Python's back.
    library = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    library.pthread_create(
        ctypes.byref(handle), None, ctypes.cast(library.sleep, ctypes.c_void_p), ctypes.c_void_p(1)
    )
    library.pthread_detach(handle)


@dpor.model
def in_a_thread():
    dpor.spawn(os.system, "true")
    dpor.join_all()


@dpor.model
def caught_by_the_model():
    try:
        os.system("true")
    except BaseException:
        return
    assert _thread
