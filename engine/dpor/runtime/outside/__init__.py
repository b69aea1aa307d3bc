"""What is outside of the interpreter: files, folders, the environment.

A system call of a model is one operation on what it accesses, and changes a scratch folder only, which is emptied
before the next execution. `Outside` puts the stand-ins in place.
"""
