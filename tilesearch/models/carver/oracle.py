"""Comparison with recorded runs of the real carver: files of the format ``carver-oracle/1`` (carver notes, end)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from tilesearch.errors import InputError, Issue
from tilesearch.models.carver.carver import recommended, run
from tilesearch.models.carver.device import CarverDevice
from tilesearch.models.carver.policies import TensorCorePolicy
from tilesearch.models.carver.record import record
from tilesearch.models.carver.result import CarverRun
from tilesearch.specs.validation import validate

SCHEMA = "carver-oracle/1"

MOST_DIFFERENCES = 20
"""Differences that are listed of one key of a file; the rest usually follows from them."""

_COMPARED = (
    *("nodes", "pipeline_stage", "use_async_copy", "block_reduction_depth", "base_tile", "steps", "rstep_candidates"),
    *("rstep_init", "rows", "counts", "ranking", "shape_ok", "samples", "emit", "hints"),
)
_ABSENT = "absent"


class Sample(BaseModel):
    """The regions of one row; only its place is read here."""

    model_config = ConfigDict(extra="allow")

    row: StrictInt


class OracleFile(BaseModel):
    """One recorded run. What a file does not hold, or holds as null, is not compared."""

    model_config = ConfigDict(extra="allow")

    schema_name: Literal["carver-oracle/1"] = Field(alias="schema")
    case: StrictStr = ""
    template: StrictStr
    params: dict[str, Any]
    device: CarverDevice
    policy: Literal["DefaultPolicy", "TensorCorePolicy"]
    topk: Annotated[StrictInt, Field(ge=1)] = 20
    error: Any = None
    not_applicable: StrictStr | None = None
    columns: list[StrictStr] = Field(default_factory=list)
    rows: list[list[Any]] | None = None
    samples: list[Sample] | None = None
    recommend_hints_is_this_policy: StrictBool | None = None

    @property
    def failure(self) -> str | None:
        """Why the file holds no rows, in a word."""
        return "error" if self.error is not None else "not_applicable" if self.not_applicable is not None else None


@dataclass(frozen=True)
class Difference:
    """One value of a file that the replica does not reproduce."""

    where: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.where}: expected {json.dumps(self.expected)}, got {json.dumps(self.got, default=str)}"


def compare(data: Mapping[str, Any]) -> list[str]:
    """What the replica does otherwise than the recorded run; empty when every value is reproduced.

    The run is computed from the file's template, parameters, device and policy alone. Raises `InputError` for
    data that are no such file.
    """
    return [str(difference) for difference in differences(read_oracle(data))]


def read_oracle(data: Mapping[str, Any], source: str = "") -> OracleFile:
    """The file's contents, checked. `source` serves the messages.

    Raises `InputError` for data that are no recorded run, or that record nothing.
    """
    file = validate(OracleFile, data, source)
    if file.failure is None and all(data.get(key) is None for key in _COMPARED):
        raise InputError(Issue("nothing is recorded that could be compared", source=source))
    return file


def differences(file: OracleFile) -> list[Difference]:
    """As `compare`, with the values."""
    tensor_cores = file.policy == TensorCorePolicy.name
    made = run(file.template, file.params, file.device, "tc" if tensor_cores else "default", file.topk)
    failure = made.failure.kind if made.failure else None
    if failure or file.failure:
        return [] if failure == file.failure else [Difference("failure", file.failure, failure)]
    given = file.model_extra or {}
    expected = {key: given.get(key, getattr(file, key, None)) for key in _COMPARED}
    if file.rows is not None:
        expected["rows"] = [dict(zip(file.columns, row, strict=False)) for row in file.rows]
    sampled = [sample.row for sample in file.samples or []]
    if file.samples is not None:
        expected["samples"] = [{"row": s.row, **(s.model_extra or {})} for s in file.samples]
    got = record(made, file.columns, sampled)
    found: list[Difference] = []
    for key, value in expected.items():
        if value is not None:
            found += islice(_walk(key, value, got[key]), MOST_DIFFERENCES)
    return found + _recommended(file, made)


def _recommended(file: OracleFile, made: CarverRun) -> list[Difference]:
    """Whether the public template returns this run's hints."""
    if file.recommend_hints_is_this_policy is None:
        return []
    public = recommended(file.template, file.params, file.device, file.topk)
    same = public.hints == made.hints
    if same is file.recommend_hints_is_this_policy:
        return []
    return [Difference("recommend_hints_is_this_policy", file.recommend_hints_is_this_policy, same)]


def _walk(where: str, expected: Any, got: Any) -> Iterator[Difference]:
    """The leaves that differ. Numbers compare by value, since carver's floats are written as integers when whole."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in {**expected, **got}:
            yield from _walk(f"{where}.{key}", expected.get(key, _ABSENT), got.get(key, _ABSENT))
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            yield Difference(f"len({where})", len(expected), len(got))
        for place, (one, other) in enumerate(zip(expected, got, strict=False)):
            yield from _walk(f"{where}[{place}]", one, other)
    elif expected != got or isinstance(expected, bool) is not isinstance(got, bool):
        yield Difference(where, expected, got)
