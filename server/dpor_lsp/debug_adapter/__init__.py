"""The debug adapter: time travel over a recorded trace, for any editor that speaks the Debug Adapter Protocol."""
