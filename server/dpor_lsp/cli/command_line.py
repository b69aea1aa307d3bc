"""The command `dpor-lsp`: reads its arguments, does what they ask and returns the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.cli.arguments import Arguments, Mode, parse
from dpor_lsp.cli.console import PROGRAM, deliver, fail, leave_streams, make_streams_safe, warn
from dpor_lsp.cli.report import Entry, ExitCode, Report, raised

if TYPE_CHECKING:
    from dpor_lsp.checking.check_target import CheckTarget
    from dpor_lsp.checking.checker import Checker
    from dpor_lsp.cli.replaying import Pinned
    from dpor_lsp.cli.targets import Found, Overrides, Problem


def main(words: Sequence[str] | None = None) -> int:
    """Run the command with `words` (default: those of the process) and return its exit code."""
    make_streams_safe()
    try:
        return int(_run(parse(sys.argv[1:] if words is None else words)))
    except DporError as error:
        fail(error)
        return ExitCode.ERROR
    except KeyboardInterrupt:
        warn(Code.CANCELLED, "interrupted")
        return ExitCode.INCOMPLETE
    except BrokenPipeError:
        # Whoever read the report has gone, and wants to hear no more of it.
        return ExitCode.ERROR
    except Exception as error:
        from dpor_lsp.checking.failures import reason_of

        fail(raised(reason_of(error)))
        return ExitCode.ERROR
    finally:
        leave_streams()


def _run(arguments: Arguments) -> int:
    if arguments.mode is Mode.VERSION:
        from dpor_lsp import version

        print(f"{PROGRAM} {version()}")
        return ExitCode.EXPECTED
    if arguments.mode is Mode.SERVE:
        return _serve(arguments)
    if arguments.mode is Mode.DEBUG_ADAPTER:
        from dpor_lsp.debug_adapter.serving import serve

        return serve()
    if arguments.mode is Mode.LIST:
        return _list(arguments)
    if arguments.mode is Mode.REPLAY:
        return _replay(arguments)
    if arguments.watch:
        from dpor_lsp.cli.watch import watch

        return watch(arguments)
    return _check(arguments)


def _serve(arguments: Arguments) -> int:
    # Imported here: nothing else needs pygls, which takes longer to load than most checks.
    from dpor_lsp.language_server.start import serve_stdio, serve_tcp

    if arguments.tcp is not None:
        return serve_tcp(arguments.tcp)
    if sys.stdin.isatty():
        warn_of_terminal()
    return serve_stdio()


def warn_of_terminal() -> None:
    """Say on standard error what waits there, to whoever has typed the command by hand."""
    print(
        f"{PROGRAM}: the language server waits for an editor on standard input (Ctrl-D ends it).\n"
        f"To check models here: {PROGRAM} --check [PATH ...]; all options: {PROGRAM} --help",
        file=sys.stderr,
    )


def _check(arguments: Arguments) -> ExitCode:
    from dpor_lsp.cli.preparation import Skipped, make_checker, planned, run_root

    root = run_root(arguments)
    started, clock = time.time(), time.monotonic()
    checker = make_checker(arguments, root)
    try:
        items = planned(arguments, root, Skipped())
        entries = _checked(arguments, checker, items)
    finally:
        checker.close()
    report = Report(tuple(entries), root, time.monotonic() - clock, started)
    if arguments.format == "text":
        from dpor_lsp.formats import text as format_text

        style = format_text.Style() if arguments.output else format_text.style_for(sys.stdout)
        whole = format_text.render(report, style) if arguments.output else format_text.summary(report, style)
        deliver(whole, arguments.output)
    else:
        from dpor_lsp import formats

        deliver(formats.render(report, arguments.format), arguments.output, utf_8=True)
    return _interrupted(report.exit_code) if checker.interrupted else report.exit_code


def _interrupted(code: ExitCode) -> ExitCode:
    """Return the exit code of a run that the user ended: what was not done outweighs a clean start."""
    warn(Code.CANCELLED, "interrupted: what was not done is reported as incomplete")
    return ExitCode.INCOMPLETE if code is ExitCode.EXPECTED else code


def _checked(arguments: Arguments, checker: Checker, items: Sequence[CheckTarget | Problem]) -> list[Entry]:
    """Check everything, with a live display on a terminal and each text entry printed when it is due."""
    from dpor_lsp.cli.display import LateDisplay

    streaming = arguments.format == "text" and arguments.output is None
    entries: list[Entry] = []
    with LateDisplay() as display:
        for entry in checker.check(items, display.observe):
            entries.append(entry)
            if streaming:
                display.pause()
                _print_entry(entry)
    return entries


def _print_entry(entry: Entry) -> None:
    from dpor_lsp.formats import text as format_text

    deliver(format_text.entry(entry, format_text.style_for(sys.stdout)), None)


def _list(arguments: Arguments) -> ExitCode:
    from dpor_lsp.cli.preparation import Skipped, found, run_root
    from dpor_lsp.cli.targets import Found
    from dpor_lsp.formats import json as format_json

    items = found(arguments, run_root(arguments), Skipped())
    models = [item for item in items if isinstance(item, Found)]
    problems = [item for item in items if not isinstance(item, Found)]
    code = ExitCode.ERROR if problems else ExitCode.EXPECTED
    if arguments.format == "json":
        text = format_json.render_list([item.info for item in models], int(code))
        deliver(text, arguments.output, utf_8=True)
    else:
        deliver("".join(f"{_listed(item)}\n" for item in models), arguments.output)
    for problem in problems:
        _fail_with(problem)
    return code


def _listed(found: Found) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in found.info.parameters.items())
    options = ", ".join(f"{name}={value!r}" for name, value in found.info.options.items())
    text = found.info.id + (f" ({values})" if values else "")
    return text + (f"  [{options}]" if options else "")


def _fail_with(problem: Problem) -> None:
    assert problem.result.reason is not None
    fail(raised(problem.result.reason))


def _replay(arguments: Arguments) -> ExitCode:
    from dpor_lsp.cli.preparation import make_checker, only_model, overrides, run_root
    from dpor_lsp.cli.replaying import Pinned, replay, replay_exit_code
    from dpor_lsp.formats import json as format_json
    from dpor_lsp.formats import text as format_text

    root = run_root(arguments)
    checker = make_checker(arguments, root)
    try:
        asked: Overrides = overrides(arguments, root)
        target = only_model(arguments, root, asked)
        if arguments.schedule is not None:
            pinned = Pinned(arguments.schedule, target.request.parameters, target.request.options)
        else:
            pinned = _last_schedule(checker, target)
        if pinned is None:
            deliver(f"{target.info.id} is verified: there is no counterexample to replay\n", arguments.output)
            return ExitCode.EXPECTED
        if arguments.html is not None:
            return _write_page(arguments.html, checker, target, pinned)
        result = replay(checker, target, pinned)
    finally:
        checker.close()
    code = replay_exit_code(result)
    if arguments.format == "json":
        text = format_json.render_replay(target.info.id, result, int(code))
        deliver(text, arguments.output, utf_8=True)
        return code
    from dpor.counterexample.text import render_replay

    style = format_text.Style() if arguments.output else format_text.style_for(sys.stdout)
    text = render_replay(result, width=style.width, color=style.color, root=target.root)
    deliver(text.rstrip() + "\n", arguments.output)
    return code


def _last_schedule(checker: Checker, target: CheckTarget) -> Pinned | None:
    """The last counterexample if it can still be followed, or else that of a check that is made now."""
    from dpor_lsp.cli.replaying import found_schedule, kept_schedule, why_not

    kept = kept_schedule(checker, target)
    if kept is None:
        return found_schedule(checker, target)
    reason = why_not(checker, target, kept)
    if reason is None:
        return kept
    warn(
        Code.DIVERGED,
        f"the kept counterexample of {target.info.id} no longer fits, it is checked anew: {reason}",
    )
    return found_schedule(checker, target)


def _write_page(file: str, checker: Checker, target: CheckTarget, pinned: Pinned) -> ExitCode:
    """Record a schedule and write it as a page; the exit code is that of a replay."""
    from dpor_lsp.cli.replaying import replay_request
    from dpor_lsp.trace import record_trace
    from dpor_lsp.trace_view import render

    document = record_trace(replay_request(target, pinned), checker.limits(target))
    deliver(render(document), file, "--html")
    if document.divergence is not None:
        warn(Code.DIVERGED, f"the replay diverged at {document.divergence}")
    deliver(f"{document.model}: {len(document.steps)} steps written to {file}\n", None)
    if document.failure is not None:
        return ExitCode.VIOLATION
    return ExitCode.INCOMPLETE if document.divergence else ExitCode.EXPECTED
