"""Requests beyond LSP: the models of the workspace, and recorded traces of counterexamples."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from dpor.errors import DporError
from dpor.results import ReplayRequest
from dpor_lsp.checking.cache import FOLDER
from dpor_lsp.checking.process import worker_command
from dpor_lsp.language_server.commands import refused, require_model, require_violation
from dpor_lsp.language_server.server import DporServer


def register(server: DporServer) -> None:
    """Register the handlers."""
    session = server.session

    @server.feature("dpor/models")
    async def models(params: Any) -> dict[str, Any]:
        await session.scan()
        records = sorted(session.records(), key=lambda item: (item.uri, item.place.start.line))
        return {"models": [record.to_json() for record in records]}

    @server.feature("dpor/trace")
    async def trace(params: Any) -> dict[str, str]:
        return {"path": str(await recorded(params))}

    @server.feature("dpor/traceView")
    async def trace_view(params: Any) -> dict[str, str]:
        path = await recorded(params)
        return {"html": await session.aside(partial(_render, path))}

    async def recorded(params: Any) -> Path:
        # pygls makes an object with attributes of the parameters of a method that it does not know.
        arguments = tuple(getattr(params, name, None) for name in ("uri", "model", "violation"))
        record = await require_model(session, arguments)
        index = require_violation(record, arguments)
        result, target, environment = record.shown, record.target, record.environment
        assert result is not None
        assert target is not None
        assert environment is not None
        request = ReplayRequest(
            file=target.request.file,
            model=target.request.model,
            root=target.request.root,
            schedule=result.violations[index].schedule,
            parameters=target.request.parameters,
            options=target.request.options,
            source=target.request.source,
            overlays=target.request.overlays,
        )
        # Imported here, as in `_render`: the first diagnostic must not wait for what is asked for now and then.
        from dpor_lsp.trace import find_or_record

        command = worker_command(environment.interpreter)
        try:
            return await session.aside(
                partial(find_or_record, request, target.root / FOLDER, command=command)
            )
        except DporError as error:
            raise refused(str(error)) from None
        except OSError as error:
            raise refused(f"the trace cannot be written: {error}") from None


def _render(path: Path) -> str:
    from dpor_lsp.trace import load_trace
    from dpor_lsp.trace_view import render

    return render(load_trace(path))
