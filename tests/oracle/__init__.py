"""An oracle of what plain CPython can do with a program, which shares nothing with what it judges: see README.md."""
