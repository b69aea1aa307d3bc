"""Symbolic values: expressions that stand for every number a model can be given, and what decides between them."""
