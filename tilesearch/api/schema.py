"""JSON Schemas of the answers that commands print and of the files that users write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from tilesearch.answers import (
    CheckAnswer,
    DeviceDiff,
    DeviceRow,
    DeviceSheet,
    ExplainAnswer,
    OccupancyAnswer,
    SolveAnswer,
    VerifyAnswer,
)
from tilesearch.answers.design import DesignAnswer
from tilesearch.answers.fuse import FuseAnswer
from tilesearch.answers.languages import ExportAnswer, PortAnswer, PruneAnswer
from tilesearch.answers.roofline import RooflineAnswer
from tilesearch.answers.schedule import ScheduleAnswer
from tilesearch.answers.shard import ShardAnswer
from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.devices import VENDORS
from tilesearch.specs.ops import MAX_EXTENT, OP_KINDS
from tilesearch.specs.problems import ProblemFile, Span

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{model}"

ANSWERS: dict[str, Any] = {
    "solve": SolveAnswer,
    "check": CheckAnswer,
    "explain": ExplainAnswer,
    "occupancy": OccupancyAnswer,
    "roofline": RooflineAnswer,
    "fuse": FuseAnswer,
    "design": DesignAnswer,
    "schedule": ScheduleAnswer,
    "shard": ShardAnswer,
    "prune": PruneAnswer,
    "port": PortAnswer,
    "export": ExportAnswer,
    "verify": VerifyAnswer,
    "devices": list[DeviceRow],
    "devices-show": DeviceSheet,
    "devices-diff": DeviceDiff,
}
"""Name to answer: the one place where an answer's schema is registered."""

FILES = ("problem", "device")
"""The files that users write."""


def schema_names() -> list[str]:
    """What `schema` knows."""
    return [*ANSWERS, *FILES]


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of an answer or a file. Raises `InputError` for a name that is not known."""
    if name in ANSWERS:
        found = TypeAdapter(ANSWERS[name]).json_schema(mode="serialization")
    elif name == "problem":
        found = _problem()
    elif name == "device":
        found = _device()
    else:
        raise InputError(Issue(f"there is no schema {name!r}", hint=_hint(name)))
    return {"$schema": _DIALECT, "title": f"tilesearch {name}", **{k: v for k, v in found.items() if k != "title"}}


def _hint(name: str) -> str:
    names = f"schemas: {', '.join(schema_names())}"
    close = suggest(name, schema_names())
    return f"{close} {names}" if close.startswith("did you mean") else names


def _definitions(models: Sequence[type[BaseModel]]) -> dict[str, Any]:
    defs: dict[str, Any] = models_json_schema([(m, "validation") for m in models], ref_template=_REF)[1]["$defs"]
    return defs


def _problem() -> dict[str, Any]:
    """A problem file: a domain is a number, a list or a range, and the operator one of the kinds."""
    kinds = list(OP_KINDS.values())
    defs = _definitions([ProblemFile, Span, *kinds])
    top = defs.pop("ProblemFile")
    value = {"type": "integer", "minimum": 1, "maximum": MAX_EXTENT}
    several = {"type": "array", "items": value, "minItems": 1}
    top["properties"]["space"] |= {"additionalProperties": {"anyOf": [value, several, {"$ref": "#/$defs/Span"}]}}
    for name, kind in OP_KINDS.items():
        defs[kind.__name__].setdefault("required", []).append("kind")
        defs[kind.__name__]["properties"]["kind"] = {"const": name}
    top["properties"]["op"] = {"oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]}
    top["properties"]["ops"] = {"type": "array", "minItems": 2, "items": _link()}
    return {**top, "oneOf": [{"required": ["op"]}, {"required": ["ops"]}], "$defs": defs}


def _link() -> dict[str, Any]:
    """An operator of a chain: its own keys beside those of its kind."""
    own = {name: {"type": "string"} for name in ("name", "input_from")}
    properties = {**own, "output_in_memory": {"type": "boolean"}, "kind": {"enum": list(OP_KINDS)}}
    return {"type": "object", "required": ["name", "kind"], "properties": properties}


def _device() -> dict[str, Any]:
    """A device file: all keys of its vendor, or those that it does not inherit."""
    models = list(VENDORS.values())
    defs = _definitions(models)
    number = {"type": "number"}
    defs["Quantity"] = _sourced(defs["Quantity"], number)
    defs["Quantities"] = _sourced(defs["Quantities"], {"type": "array", "items": number})
    for model in models:
        variant = defs[model.__name__]
        everything = variant.pop("required")
        limits = {"required": ["name", "limits_only"], "properties": {"limits_only": {"const": True}}}
        variant["anyOf"] = [{"required": everything}, {"required": ["name", "inherits"]}, limits]
    return {"anyOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in models], "$defs": defs}


def _sourced(table: dict[str, Any], number: dict[str, Any]) -> dict[str, Any]:
    """The forms of a quantity in a file: a table with a source, or the bare value; a value may be a word."""
    value = {"anyOf": [number, {"enum": ["unknown", "not applied"]}]}
    properties = {k: v for k, v in table["properties"].items() if k != "applies"} | {"value": value}
    return {"description": table.get("description", ""), "anyOf": [value, {**table, "properties": properties}]}
