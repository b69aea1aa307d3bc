"""Checks in worker processes: who runs when, what comes of it, and the cache of what is known already."""
