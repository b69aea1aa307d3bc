"""CPython's own tests as models, compared with plain CPython."""
