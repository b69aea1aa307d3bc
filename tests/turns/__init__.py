"""Turns of event loops as events, compared with every order that a loop can take."""
