"""Completion and signature help for the options inside `@dpor.model(...)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol import types

from dpor.lines import split_lines
from dpor.options import OPTIONS, Kind, Option
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.server import DporServer

_CALL = re.compile(r"@\s*(?:\w+\s*\.\s*)*model\s*\(")
_FARTHEST = 5000
"""How many characters before the cursor the decorator is looked for."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Inside:
    """A cursor between the parentheses of `@dpor.model(`: options given so far, the one being written, its value.

    `value` is what follows the equals sign, None if there is none yet; `word` is what has been written of the name.
    """

    given: tuple[str, ...]
    name: str | None
    value: str | None
    word: str


def register(server: DporServer) -> None:
    """Register the handlers."""
    session = server.session

    def inside(document: types.TextDocumentIdentifier, position: types.Position) -> Inside | None:
        path = path_of(document.uri)
        opened = session.documents.get(path) if path is not None else None
        if opened is None:
            return None
        lines = split_lines(opened.text, keepends=True)
        if position.line >= len(lines):
            before = opened.text
        else:
            line = lines[position.line]
            column = server.client.encoding.characters(line, position.character)
            before = "".join(lines[max(0, position.line - 100) : position.line]) + line[:column]
        return where(before[-_FARTHEST:])

    triggers = types.CompletionOptions(trigger_characters=["(", ",", "=", '"', "'"])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        place = inside(params.text_document, params.position)
        return [] if place is None else list(completions(place))

    help_triggers = types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["="])

    @server.feature(types.TEXT_DOCUMENT_SIGNATURE_HELP, help_triggers)
    def signature(params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        place = inside(params.text_document, params.position)
        return None if place is None else signature_help(place)


def where(before: str) -> Inside | None:
    """Where the cursor is, from the text before it; None if it is not inside the decorator's parentheses."""
    calls = list(_CALL.finditer(before))
    if not calls:
        return None
    arguments = _split(before[calls[-1].end() :])
    if arguments is None:
        return None
    names = [argument.partition("=")[0].strip() for argument in arguments[:-1]]
    name, equals, value = arguments[-1].partition("=")
    if equals:
        return Inside(tuple(names), name.strip(), value.strip(), "")
    return Inside(tuple(names), None, None, name.strip())


def _split(text: str) -> list[str] | None:
    """The arguments so far, split at the commas between them; None if the parentheses have been closed."""
    parts, depth, quote, current = list[str](), 0, "", ""
    for character in text:
        if quote:
            quote = "" if character in (quote, "\n") else quote
        elif character in "\"'":
            quote = character
        elif character in _PAIRS:
            depth += 1
        elif character in _PAIRS.values():
            depth -= 1
            if depth < 0:
                return None
        elif character == "," and depth == 0:
            parts.append(current)
            current = ""
            continue
        current += character
    return [*parts, current]


def completions(place: Inside) -> Iterator[types.CompletionItem]:
    """What can be written there."""
    if place.name is not None:
        option = OPTIONS.get(place.name)
        if option is not None:
            yield from _values(option, place.value or "")
        return
    for option in OPTIONS.values():
        if option.name not in place.given and option.name != "k":
            yield types.CompletionItem(
                f"{option.name}=",
                kind=types.CompletionItemKind.Property,
                detail=_accepts(option),
                documentation=option.help,
                filter_text=option.name,
                insert_text=f"{option.name}=",
            )


def _values(option: Option, written: str) -> Iterator[types.CompletionItem]:
    quoted = written[:1] in ('"', "'") and bool(written)
    texts = list(option.choice_names)
    if option.kind is Kind.FLAG:
        yield from (
            types.CompletionItem(text, kind=types.CompletionItemKind.Value) for text in ("True", "False")
        )
    for text in texts:
        yield types.CompletionItem(
            text,
            kind=types.CompletionItemKind.EnumMember,
            detail=option.help,
            filter_text=text if quoted else f'"{text}"',
            insert_text=text if quoted else f'"{text}"',
        )
    if option.optional and not quoted:
        yield types.CompletionItem("None", kind=types.CompletionItemKind.Value)


def _accepts(option: Option) -> str:
    if option.choice_names:
        return " | ".join(f'"{name}"' for name in option.choice_names)
    return option.kind.value


def signature_help(place: Inside) -> types.SignatureHelp:
    """The options of the decorator, the one that is being written in front."""
    options = [option for option in OPTIONS.values() if option.name != "k"]
    labels = [f"{option.name}: {_accepts(option)}" for option in options]
    active = place.name or place.word
    index = next((number for number, option in enumerate(options) if option.name == active), None)
    if index is None and place.word:
        index = next((n for n, option in enumerate(options) if option.name.startswith(place.word)), None)
    parameters = [
        types.ParameterInformation(label, documentation=option.help)
        for label, option in zip(labels, options, strict=True)
    ]
    return types.SignatureHelp(
        [types.SignatureInformation(f"model({', '.join(labels)})", parameters=parameters)],
        active_signature=0,
        # One past the last stands for none of them.
        active_parameter=len(options) if index is None else index,
    )
