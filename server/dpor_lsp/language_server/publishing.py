"""Tells the editor what has changed: diagnostics by document, states by file, once for all that changes together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from lsprotocol import types

from dpor.codes import Code
from dpor_lsp.language_server.client import Client
from dpor_lsp.language_server.findings import Finding
from dpor_lsp.language_server.links import CodeLinks
from dpor_lsp.language_server.records import FileRecord, ModelRecord

REFRESH_INTERVAL = 0.15
"""Seconds between two times that the editor is asked to draw lenses and inlay hints again."""

Owner = ModelRecord | FileRecord


class Publisher:
    """Knows what is shown in which document, and sends what has changed at the end of the loop's turn.

    `version_of` gives the version of an open document (None for one that is not open).
    """

    def __init__(self, client: Client, version_of: Callable[[str], int | None]) -> None:
        self._client = client
        self._version_of = version_of
        self._links = CodeLinks()
        self._owners: dict[str, dict[Owner, None]] = {}
        self._sent: dict[str, list[types.Diagnostic]] = {}
        self._documents: set[str] = set()
        self._files: dict[FileRecord, None] = {}
        self._flushing: asyncio.Handle | None = None
        self._refreshing: asyncio.TimerHandle | None = None

    def show(self, owner: Owner, findings: tuple[Finding, ...]) -> None:
        """Replace what is shown of a model or a file."""
        for uri in {item.uri for item in owner.findings}:
            self._owners.get(uri, {}).pop(owner, None)
            self._documents.add(uri)
        owner.findings = findings
        for uri in {item.uri for item in findings}:
            self._owners.setdefault(uri, {})[owner] = None
            self._documents.add(uri)
        self._soon()

    def owners(self, uri: str) -> list[Owner]:
        """The models and files that have something to show in a document."""
        return list(self._owners.get(uri, ()))

    def touch(self, uris: Iterable[str]) -> None:
        """Send the diagnostics of documents again if they look different now."""
        self._documents.update(uris)
        self._soon()

    def changed(self, file: FileRecord) -> None:
        """Tell of the states of a file's models."""
        self._files[file] = None
        self._soon()

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of a document, in the order of its lines."""
        found: list[types.Diagnostic] = []
        seen: set[tuple[Any, ...]] = set()
        owners = self._owners.get(uri, {})
        shown = [item for owner in owners for item in owner.findings if item.uri == uri]
        # What a check has found that it rests on says more than what was read in the text.
        assumed = {item.range.start.line for item in shown if item.code is Code.ASSUMPTION}
        for owner in owners:
            data = owner.data() if isinstance(owner, ModelRecord) else {"uri": owner.uri}
            stale = isinstance(owner, ModelRecord) and owner.stale
            for item in owner.findings:
                key = (item.code, item.message, str(item.range))
                if item.code is Code.WEAKENED and item.range.start.line in assumed:
                    continue
                if item.uri == uri and key not in seen:
                    seen.add(key)
                    found.append(item.diagnostic(data, self._links.link(item.code), stale=stale))
        return sorted(found, key=lambda item: (item.range.start.line, item.range.start.character))

    def refresh(self) -> None:
        """Have the editor ask for lenses and the like again, soon."""
        if self._refreshing is None:
            loop = asyncio.get_running_loop()
            self._refreshing = loop.call_later(REFRESH_INTERVAL, self._refresh)

    def _refresh(self) -> None:
        self._refreshing = None
        self._client.refresh()

    def _soon(self) -> None:
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = None
        documents, self._documents = self._documents, set()
        for uri in sorted(documents):
            self._publish(uri)
        files, self._files = self._files, {}
        for file in files:
            version = self._version_of(file.uri)
            models = [record.to_json() for record in file.models.values()]
            self._client.notify("dpor/status", {"uri": file.uri, "version": version, "models": models})
        if files:
            self.refresh()

    def _publish(self, uri: str) -> None:
        diagnostics = self.diagnostics(uri)
        if self._client.pulls:
            self.refresh()
            return
        if self._sent.get(uri, []) == diagnostics:
            return
        if diagnostics:
            self._sent[uri] = diagnostics
        else:
            self._sent.pop(uri, None)
            self._owners.pop(uri, None)
        self._client.publish(uri, self._version_of(uri), diagnostics)
