"""What an edit of a document concerns: the models that depend on it, and the places that move with its text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpor_lsp.language_server.positions import Edit, moved
from dpor_lsp.language_server.records import FileRecord

if TYPE_CHECKING:
    from dpor_lsp.language_server.session import Session


def affected(session: Session, path: Path) -> list[FileRecord]:
    """The file itself and those with models that depend on it."""
    name = str(path)
    found = [
        file
        for file in session.files.values()
        if file.path == path
        or any(name in item.result.dependencies for item in file.models.values() if item.result is not None)
    ]
    if path not in session.files and path.suffix == ".py" and (path.exists() or path in session.documents):
        found.append(FileRecord(session.uri(path), path))
    return found


def move(session: Session, uri: str, edits: Sequence[Edit | None]) -> None:
    """Have what is shown in a document follow its edits; None stands for a text that was replaced as a whole."""
    known = [edit for edit in edits if edit is not None]
    if not known:
        return
    for owner in session.publisher.owners(uri):
        owner.findings = tuple(item.edited(uri, known) for item in owner.findings)
    file = session.file_of(uri)
    for record in file.models.values() if file is not None else ():
        for edit in known:
            record.place = moved(record.place, edit)
            record.block = moved(record.block, edit)
    if any(edit.old_end[0] != edit.new_end[0] for edit in known):
        session.publisher.touch([uri])
