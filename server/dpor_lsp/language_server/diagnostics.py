"""Pulled diagnostics, for clients that take no pushed ones or ask for these."""

from __future__ import annotations

import hashlib

from lsprotocol import types

from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.server import DporServer


def register_pull(server: DporServer) -> None:
    """Register the handlers; a client that is pushed diagnostics would show these twice."""
    session = server.session
    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier="dpor"
    )

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def document(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        path = path_of(uri)
        if path is not None:
            await session.settled(path)
        items, identity = _items(server, uri)
        if identity == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=identity)
        return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=identity)

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def workspace(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        known = {item.uri: item.value for item in params.previous_result_ids}
        uris = {item.uri for record in session.records() for item in record.findings}
        uris |= {item.uri for file in session.files.values() for item in file.findings}
        reports: list[types.WorkspaceDocumentDiagnosticReport] = []
        for uri in sorted(uris | set(known)):
            items, identity = _items(server, uri)
            if known.get(uri) == identity:
                reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri=uri, result_id=identity))
            else:
                reports.append(
                    types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=items, result_id=identity)
                )
        return types.WorkspaceDiagnosticReport(items=reports)


def _items(server: DporServer, uri: str) -> tuple[list[types.Diagnostic], str]:
    items = server.session.publisher.diagnostics(uri)
    return items, hashlib.sha256(repr(items).encode()).hexdigest()[:16]
