"""The operations that programs are made of; `kinds.py` says how to add one."""
