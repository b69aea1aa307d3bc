"""Attacks on each surface of the checker, seeded and bounded."""
