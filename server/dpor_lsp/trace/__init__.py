"""Recorded traces: made in a worker process, kept as JSON files."""

from dpor_lsp.trace.recording import find_or_record, record_trace
from dpor_lsp.trace.storage import load_trace, save_trace, trace_of_json, trace_to_json

__all__ = [
    "find_or_record",
    "load_trace",
    "record_trace",
    "save_trace",
    "trace_of_json",
    "trace_to_json",
]
