"""What stands in for the standard library's threads, clocks, randomness and event loop inside a model."""
