"""Which function serves which request of a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.debug_adapter import breakpoints, inspection, stepping
from dpor_lsp.debug_adapter.answers import Answer, Arguments, RefusedError, shown
from dpor_lsp.debug_adapter.parameters import checked
from dpor_lsp.debug_adapter.session import Reply, Session

Handler = Callable[[Session, Arguments], Answer]

CAPABILITIES: Mapping[str, Any] = {
    "supportsConfigurationDoneRequest": True,
    "supportsStepBack": True,
    "supportsGotoTargetsRequest": True,
    "supportsDataBreakpoints": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsExceptionInfoRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsSteppingGranularity": True,
    "supportsSingleThreadExecutionRequests": True,
    "supportsLoadedSourcesRequest": True,
    "supportsTerminateRequest": True,
    "supportsRestartRequest": True,
    "supportsCancelRequest": True,
    "exceptionBreakpointFilters": list(breakpoints.FILTERS),
}


def serve_request(session: Session, command: str, arguments: object, reply: Reply) -> None:
    """Serve one request: `reply` is called once, at once or (for what loads a trace) later.

    What the request says of stopping and moving happens after the reply, as the protocol wants it.
    """
    handler = _HANDLERS.get(command)
    try:
        if handler is None and command not in _STARTING:
            raise RefusedError(f"the debug adapter does not know the request {shown(command)}")
        _require_stage(session, command)
        given = checked(command, arguments)
        if handler is None:
            session.start(command, given, reply)
            return
        body, afterwards = handler(session, given)
    except RefusedError as refusal:
        reply(DporError(Code.BAD_OPTION, str(refusal)))
        return
    reply(body)
    if afterwards is not None:
        afterwards()


def _require_stage(session: Session, command: str) -> None:
    """Raise RefusedError for a request that does not belong where client and adapter have come to."""
    if session.ended:
        raise RefusedError(f"{command} came after disconnect")
    if command == "initialize":
        if session.client is not None:
            raise RefusedError("initialize was sent before")
    elif session.client is None and command != "disconnect":
        raise RefusedError(f"{command} came before initialize")


def _initialize(session: Session, given: Arguments) -> Answer:
    session.client = given
    return dict(CAPABILITIES), None


def _configuration_done(session: Session, _: Arguments) -> Answer:
    return None, session.configuration_done


def _terminate(session: Session, _: Arguments) -> Answer:
    session.cancel_loading()
    return None, lambda: session.send_event("terminated", {})


def _disconnect(session: Session, _: Arguments) -> Answer:
    session.cancel_loading()
    session.ended = True
    return None, None


def _cancel(session: Session, _: Arguments) -> Answer:
    # Only the loading of a trace takes time that could be saved.
    session.cancel_loading()
    return None, None


_STARTING = frozenset({"launch", "attach", "restart"})
_HANDLERS: Mapping[str, Handler] = {
    "initialize": _initialize,
    "configurationDone": _configuration_done,
    "terminate": _terminate,
    "disconnect": _disconnect,
    "cancel": _cancel,
    "next": stepping.next_line,
    "stepIn": stepping.step_in,
    "stepOut": stepping.step_out,
    "stepBack": stepping.step_back,
    "continue": stepping.go_on,
    "reverseContinue": stepping.reverse_continue,
    "pause": stepping.pause,
    "gotoTargets": stepping.goto_targets,
    "goto": stepping.goto,
    "dpor/step": stepping.jump,
    "threads": inspection.threads,
    "stackTrace": inspection.stack_trace,
    "scopes": inspection.scopes_of_frame,
    "variables": inspection.variables,
    "evaluate": inspection.evaluate,
    "exceptionInfo": inspection.exception_info,
    "source": inspection.source,
    "loadedSources": inspection.loaded_sources,
    "setBreakpoints": breakpoints.set_breakpoints,
    "breakpointLocations": breakpoints.breakpoint_locations,
    "dataBreakpointInfo": breakpoints.data_breakpoint_info,
    "setDataBreakpoints": breakpoints.set_data_breakpoints,
    "setExceptionBreakpoints": breakpoints.set_exception_breakpoints,
}
