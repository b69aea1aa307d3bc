"""Instrumentation of ordinary Python: what turns each shared access into a call of the host."""
