"""The language server: `session` owns all state, the handler modules are thin, one a group of LSP methods."""
