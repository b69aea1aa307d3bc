"""Write the marks of callables that the census does not have yet, for somebody to look at, and docs/atomicity.md:

python -m census      (in tests/engine)
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from census import document, table
from census.treatment import mark, treatments


def main() -> None:
    """Add what is missing, and say what it is."""
    known = table.marked()
    with tempfile.TemporaryDirectory() as folder:
        found = treatments(Path(folder))
    added = {name: mark(treatment) for name, treatment in found.items() if name not in known}
    table.FILE.write_text(table.written({**known, **added}), encoding="utf-8")
    document.FILE.write_text(document.document(found), encoding="utf-8")
    for name, found_mark in sorted(added.items()):
        print(name, found_mark)


if __name__ == "__main__":
    main()
