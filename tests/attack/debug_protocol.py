"""The Debug Adapter Protocol's own JSON schema: what it lets a client send, and whether it lets an adapter say this.

The schema is the one that debugpy has with it (`debugProtocol.json`, JSON schema draft 4).
"""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema

from attack.drawn_values import MOST_DEPTH, NUMBERS, ODD, TEXTS

_FILE = Path("_vendored", "pydevd", "_pydevd_bundle", "_debug_adapter", "debugProtocol.json")
_OWN = "dpor/"
"""What the adapter's own requests and events begin with: the protocol says nothing of them."""


class DebugProtocol:
    """The schema."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("debugpy")
        assert found is not None
        assert found.origin is not None
        self._schema = json.loads(Path(found.origin).parent.joinpath(_FILE).read_text(encoding="utf-8"))
        self._requests = dict(self._named("Request", "command"))
        self._events = dict(self._named("Event", "event"))
        self._validators: dict[str, jsonschema.Draft4Validator] = {}

    @property
    def commands(self) -> tuple[str, ...]:
        """The names of all requests, those that an adapter sends among them."""
        return tuple(self._requests)

    def arguments(self, command: str, drawn: random.Random, numbers: tuple[int, ...]) -> Any:
        """Arguments that the protocol lets a request have; `numbers` are those that mean something here."""
        properties = self.whole({"$ref": f"#/definitions/{self._requests[command]}"})["properties"]
        return _Drawing(self, drawn, numbers).of(properties.get("arguments", {"type": "null"}))

    def fault(self, message: Mapping[str, Any]) -> str | None:
        """What the protocol has against a response or an event of the adapter."""
        name = self._definition(message)
        if name is None:
            return None
        error = jsonschema.exceptions.best_match(self._validator(name).iter_errors(dict(message)))
        return None if error is None else f"{name} at {error.json_path}: {error.message[:300]}"

    def _definition(self, message: Mapping[str, Any]) -> str | None:
        if message["type"] == "event":
            event = message["event"]
            return None if event.startswith(_OWN) else self._events[event]
        if not message["success"]:
            return "ErrorResponse"
        request = self._requests.get(message["command"])
        return "Response" if request is None else request.removesuffix("Request") + "Response"

    def _validator(self, name: str) -> jsonschema.Draft4Validator:
        if name not in self._validators:
            schema = {"$ref": f"#/definitions/{name}", "definitions": self._schema["definitions"]}
            self._validators[name] = jsonschema.Draft4Validator(schema)
        return self._validators[name]

    def _named(self, kind: str, field: str) -> Iterator[tuple[str, str]]:
        for name in self._schema["definitions"]:
            if name.endswith(kind) and name != kind:
                whole = self.whole({"$ref": f"#/definitions/{name}"})
                yield whole["properties"][field]["enum"][0], name

    def whole(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A schema with what it refers to and is made of."""
        if "$ref" in schema:
            return self.whole(self._schema["definitions"][schema["$ref"].rpartition("/")[2]])
        whole = dict(schema)
        for part in map(self.whole, whole.pop("allOf", ())):
            properties = {**whole.get("properties", {}), **part.get("properties", {})}
            required = [*whole.get("required", ()), *part.get("required", ())]
            whole |= part
            whole |= {"properties": properties, "required": required}
        return whole


class _Drawing:
    """Draws values that a schema allows."""

    def __init__(self, protocol: DebugProtocol, drawn: random.Random, numbers: tuple[int, ...]) -> None:
        self._protocol = protocol
        self._drawn = drawn
        self._numbers = (*numbers, *numbers, *NUMBERS)

    def of(self, given: Mapping[str, Any], depth: int = 0) -> Any:
        """A value of one schema."""
        schema = self._protocol.whole(given)
        if "oneOf" in schema:
            return self.of(self._drawn.choice(schema["oneOf"]), depth)
        allowed = schema.get("enum") or schema.get("_enum")
        if allowed:
            return self._drawn.choice(allowed)
        kind = schema.get("type", "object")
        if isinstance(kind, list):
            kind = self._drawn.choice(kind)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                many = 0 if depth > MOST_DEPTH else self._drawn.randrange(3)
                items = schema.get("items")
                return [self.of(items, depth + 1) if items else self._drawn.choice(ODD) for _ in range(many)]
            case "string":
                return self._drawn.choice(TEXTS)
            case "integer":
                return self._drawn.choice(self._numbers)
            case "number":
                return self._drawn.choice((0.0, -1.5, 1e308))
            case "boolean":
                return self._drawn.random() < 0.5
            case _:
                return None

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            name: self.of(field, depth + 1)
            for name, field in schema.get("properties", {}).items()
            if name in required or (depth <= MOST_DEPTH and self._drawn.random() < 0.6)
        }
