"""How messages come in: framing, the JSON-RPC protocol with its stages, and the connections that are let in."""
