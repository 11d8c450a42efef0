"""Replay of recorded runs of the real carver, one file a row, and of the seed text's recomputation of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilesearch.answers import VerifyAnswer
from tilesearch.api.verify.carver_seed import SEED_SCHEMA, replay_seed
from tilesearch.api.verify.replay import Tally
from tilesearch.errors import InputError, Issue
from tilesearch.models.carver.oracle import SCHEMA, OracleFile, differences, read_oracle
from tilesearch.specs.validation import load_json, shown

_INDEX = "a list of files, no run"
_NO_ROWS = {
    "error": "carver itself raises; the replica says so too, and there are no rows to compare",
    "not_applicable": "the policy does not apply; the replica says so too, and there are no rows to compare",
}


def verify_carver(files: list[Path]) -> VerifyAnswer:
    """Recompute every file from its template, parameters, device and policy, and compare all it records.

    Visited tiles in order with every metric, ranking, emission and hints are compared. A file without rows is
    skipped, if the replica agrees that there is nothing to run.
    """
    tally = Tally("carver")
    for path, data in [(path, _read(path)) for path in files]:
        if isinstance(data, OracleFile):
            _replay(tally, data.case or path.name, data, path)
        elif isinstance(data, Mapping):
            replay_seed(tally, path.name, data, str(path))
        else:
            tally.skip(path.name, _INDEX)
    return tally.answer()


def _read(path: Path) -> OracleFile | Mapping[str, Any] | list[Any]:
    data = load_json(path)
    if isinstance(data, list) and data and all(isinstance(row, dict) and "file" in row for row in data):
        return data
    if not isinstance(data, dict):
        raise InputError(Issue(f"an object is wanted, got {shown(data)}", source=str(path)))
    return data if data.get("schema") == SEED_SCHEMA else read_oracle(_with_schema(data), str(path))


def _with_schema(data: dict[str, Any]) -> dict[str, Any]:
    """A file that does not say its format is taken for a run, so that its other faults are named as well."""
    return {"schema": SCHEMA, **data}


def _replay(tally: Tally, place: str, file: OracleFile, path: Path) -> None:
    try:
        found = differences(file)
    except InputError as error:
        raise InputError([Issue(i.message, i.where, str(path), i.hint) for i in error.issues]) from None
    if found:
        tally.differ(place, {d.where: d.expected for d in found}, {d.where: d.got for d in found})
    elif file.failure:
        tally.skip(place, _NO_ROWS[file.failure])
    else:
        tally.compare(place, {}, {})
