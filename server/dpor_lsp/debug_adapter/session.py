"""One debugging session: the trace, the position in it, and what the client is told when that changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpor.codes import Code
from dpor.counterexample.trace_document import TraceDocument
from dpor.errors import DporError
from dpor_lsp.debug_adapter import scopes
from dpor_lsp.debug_adapter.answers import Answer, Arguments, RefusedError, mapping, number
from dpor_lsp.debug_adapter.launching import Launch, read_launch
from dpor_lsp.debug_adapter.line_breakpoints import Asked, LineBreakpoints, describe
from dpor_lsp.debug_adapter.sources import Sources
from dpor_lsp.debug_adapter.timeline import Breakpoints, Stop, Timeline, place_of

Reply = Callable[[dict[str, Any] | DporError | None], None]


class Session:
    """What a session knows; the requests of a client are served by functions over it.

    `send_event(name, body)` sends an event; `begin(launch, finish)` has a trace loaded, and calls `finish` with it or
    with what kept it from being loaded, later and in the thread that serves requests; `cancel` gives that up.
    """

    def __init__(
        self,
        send_event: Callable[[str, dict[str, Any]], None],
        begin: Callable[[Launch, Callable[[TraceDocument | DporError], None]], None],
        cancel: Callable[[], None],
    ) -> None:
        self.send_event = send_event
        self._begin = begin
        self.cancel_loading = cancel
        self.timeline: Timeline | None = None
        self.sources: Sources | None = None
        self._launch: Launch | None = None
        self._loading = False
        self.configured = False
        self.position = 1
        self.breakpoints = Breakpoints()
        self.lines = LineBreakpoints()
        self._last_number = 0
        self.client: Arguments | None = None
        """What the client said of itself in `initialize`; None before that."""
        self.ended = False

    # Starting and ending

    def start(self, command: str, given: Arguments, reply: Reply) -> None:
        """Serve a request that loads a trace; `reply` is called when it is loaded, or cannot be."""
        if command == "attach":
            reply(
                DporError(
                    Code.BAD_OPTION, "a recorded trace cannot be attached to", 'use a "launch" configuration'
                )
            )
            return
        if self._loading:
            reply(DporError(Code.BAD_OPTION, "a trace is being loaded already"))
            return
        restarting = command == "restart"
        if not restarting and self.timeline is not None:
            reply(DporError(Code.BAD_OPTION, "a trace is loaded already", "restart to show another one"))
            return
        arguments: object = given.get("arguments", {}) if restarting else given
        try:
            # A client that has nothing new to say restarts what it launched.
            unchanged = restarting and self._launch is not None and not _names_a_target(arguments)
            launch = self._launch if unchanged and self._launch is not None else read_launch(arguments)
        except DporError as error:
            reply(error)
            return
        self._loading = True

        def finish(loaded: TraceDocument | DporError) -> None:
            self._loading = False
            if isinstance(loaded, DporError):
                reply(loaded)
                return
            self._show(loaded, launch)
            reply(None)
            if restarting:
                for asked in self.lines:
                    self.send_event("breakpoint", {"reason": "changed", "breakpoint": self.describe(asked)})
                self.stop(Stop(self.position, "entry"))
                return
            self.send_event("initialized", {})
            if self.configured:
                self.stop(Stop(self.position, "entry"))

        self._begin(launch, finish)

    def _show(self, document: TraceDocument, launch: Launch) -> None:
        self._launch = launch
        self.timeline = Timeline(document, only_matters=launch.steps == "matters")
        self.sources = Sources(document, uris=self._told("pathFormat", "path") == "uri")
        self.position = self.timeline.first(launch.start)
        self.breakpoints.lines = self.lines.resolve(self.sources)
        if document.output:
            self._print("stdout", document.output)
        for name in self.sources.changed:
            self._print(
                "important", f"{name} has changed since the trace was recorded; its recorded text is shown\n"
            )
        if document.divergence is not None:
            self._print(
                "important",
                f"{Code.DIVERGED.value}: the recording ends early: it diverged at {document.divergence}\n",
            )
        failure = document.failure
        if failure is not None:
            text = f"{failure.code.value} {failure.kind.value} at step {failure.step} of {self.timeline.end}"
            self._print("console", f"{document.model}: {text}: {failure.message}\n")
        else:
            self._print("console", f"{document.model}: nothing breaks in these {self.timeline.end} steps\n")

    def _print(self, category: str, text: str) -> None:
        self.send_event("output", {"category": category, "output": text})

    def configuration_done(self) -> None:
        """Begin, once the client has set its breakpoints."""
        if not self.configured:
            self.configured = True
            if self.timeline is not None:
                self.stop(Stop(self.position, "entry"))

    # Stopping and moving

    def stop(self, stop: Stop) -> None:
        """Stand at a position, and tell the client."""
        timeline, sources = self.ready()
        self.position = stop.position
        if stop.reason == "entry":
            stop = timeline.arrive(stop.position, "entry")
        step = timeline.step(stop.position)
        body: dict[str, Any] = {
            "reason": stop.reason,
            "threadId": timeline.number(step.thread),
            "allThreadsStopped": True,
        }
        if stop.text is not None:
            body["description"] = _title_of(stop, timeline)
            body["text"] = stop.text
        if stop.breakpoints:
            body["hitBreakpointIds"] = list(stop.breakpoints)
        self.send_event("stopped", body)
        place = place_of(step)
        told: dict[str, Any] = {"step": stop.position, "path": None, "line": None}
        if place is not None:
            told.update(path=str(sources.path(place.file)), line=place.line)
        self.send_event("dpor/step", told)

    def ready(self) -> tuple[Timeline, Sources]:
        """The trace and its sources. Raises RefusedError if none is loaded."""
        if self.timeline is None or self.sources is None:
            raise RefusedError("no trace is loaded: send a launch request first")
        return self.timeline, self.sources

    def moved(self, position: int, reason: str, body: dict[str, Any] | None = None) -> Answer:
        """The answer to a request that moves to a position."""
        timeline, _ = self.ready()
        text = None
        if position == self.position and reason == "step":
            text = "the beginning of the recording" if position == 1 else "the end of the recording"
        return body, lambda: self.stop(timeline.arrive(position, reason, text))

    # Numbers

    def new_number(self) -> int:
        """A number for a breakpoint."""
        self._last_number += 1
        return self._last_number

    def describe(self, asked: Asked) -> dict[str, Any]:
        """The protocol's description of a line breakpoint."""
        return describe(asked, self.to_client(asked.line), self.timeline, self.sources)

    def frame_number(self, given: Arguments) -> int:
        """The frame that a request names, else that of the thread that acts."""
        timeline, _ = self.ready()
        frame = given.get("frameId")
        if type(frame) is int:
            return frame
        return scopes.frame_id(timeline.number(timeline.step(self.position).thread), 0)

    def lane(self, given: Arguments) -> str:
        """The lane that a request names. Raises RefusedError if there is none of its number."""
        timeline, _ = self.ready()
        wanted = number(given, "threadId")
        if not 1 <= wanted <= len(timeline.lanes):
            raise RefusedError(f"there is no thread {wanted}")
        return timeline.lanes[wanted - 1].id

    @property
    def reports_progress(self) -> bool:
        """True if the client shows how far something is."""
        return self._told("supportsProgressReporting", default=False) is True

    def _told(self, name: str, default: object) -> object:
        return default if self.client is None else self.client.get(name, default)

    def to_client(self, number: int, flag: str = "linesStartAt1") -> int:
        """A line or column as the client counts it."""
        return number if self._told(flag, True) else number - 1

    def from_client(self, line: int) -> int:
        """A line of the client's, counted from 1."""
        return line if self._told("linesStartAt1", True) else line + 1


def _names_a_target(arguments: object) -> bool:
    return bool({"trace", "model"} & set(mapping(arguments)))


def _title_of(stop: Stop, timeline: Timeline) -> str:
    failure = timeline.document.failure
    if stop.reason == "exception" and failure is not None:
        return f"{failure.code.value} {failure.kind.value}"
    return stop.text or ""
