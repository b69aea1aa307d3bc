"""Programs of one thread, drawn over the grammar of the language."""
