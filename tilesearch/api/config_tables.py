"""Files of configurations: a list in JSON, a table in CSV, or vLLM's fused-MoE JSON, keyed by M."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilesearch.answers.languages import PruneAnswer
from tilesearch.api.prune import prune_problem
from tilesearch.errors import InputError, Issue
from tilesearch.specs.problems import Problem
from tilesearch.specs.validation import load_json, load_text, shown


@dataclass(frozen=True)
class ConfigTable:
    """The configurations of a file, by the M that they are for; None: for the problem as it is."""

    rows: dict[int | None, list[dict[str, Any]]]


def read_configs(path: str | Path) -> ConfigTable:
    """The configurations of `path`. Raises `InputError` for a file that holds none."""
    place = Path(path)
    if place.suffix.lower() == ".csv":
        return ConfigTable({None: _from_csv(place)})
    data = load_json(place)
    if isinstance(data, list):
        return ConfigTable({None: [_object(item, f"[{n}]", place) for n, item in enumerate(data)]})
    if isinstance(data, Mapping):
        keyed = {key: item for key, item in data.items() if str(key).isdigit()}
        if keyed:
            return ConfigTable({int(m): [{"M": int(m), **_object(item, m, place)}] for m, item in keyed.items()})
        return ConfigTable({None: [_object(data, "", place)]})
    raise _no_configs(f"a list or an object is wanted, got {shown(data)}", place)


def _object(item: Any, where: str, place: Path) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise InputError(Issue(f"a configuration is an object, got {shown(item)}", where, str(place)))
    return dict(item)


def _no_configs(message: str, place: Path) -> InputError:
    hint = "a JSON list of objects, a CSV with a column for each knob, or vLLM's JSON keyed by M"
    return InputError(Issue(message, source=str(place), hint=hint))


def _from_csv(place: Path) -> list[dict[str, Any]]:
    """Rows of a CSV file; what reads as a whole number is one."""
    rows = list(csv.DictReader(load_text(place, "CSV").splitlines()))
    if not rows:
        raise _no_configs("holds no rows under its header", place)
    return [{str(name): _value(text) for name, text in row.items() if name and text} for row in rows]


def _value(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def prune_table(table: ConfigTable, problem: Problem, top: int | None = None, allow_soft: bool = True) -> PruneAnswer:
    """`prune` for every part of a table; a part for an M is judged on the problem with that M.

    Raises `InputError` where the table is keyed by M and the operator has none.
    """
    kept, rejected = [], []
    for m, configs in table.rows.items():
        answer = prune_problem(configs, problem if m is None else _with_m(problem, m), top, allow_soft)
        kept += answer.kept
        rejected += answer.rejected
    return PruneAnswer.model_construct(kept=kept, rejected=rejected)


def _with_m(problem: Problem, m: int) -> Problem:
    if "m" not in type(problem.op).model_fields:
        kind = getattr(problem.op, "kind", "operator")
        raise InputError(Issue(f"the configurations are keyed by M, and {kind} has no m", "op", problem.source))
    changed = {**problem.op.model_dump(exclude_none=True), "m": m}
    return problem.replace(op=type(problem.op).model_validate(changed))
