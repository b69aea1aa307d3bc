"""The command line: what it accepts, what it finds to check, what it shows and tells at the end."""
