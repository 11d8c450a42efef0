"""Files of configurations: a list in JSON, a table in CSV, or vLLM's fused-MoE JSON, keyed by M."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilesearch.answers.languages import PruneAnswer, Rejected
from tilesearch.api.prune import UNREADABLE, prune_problem
from tilesearch.errors import InputError, Issue
from tilesearch.specs.ops import MAX_EXTENT
from tilesearch.specs.problems import Problem
from tilesearch.specs.validation import load_json, load_text, shown, validate


@dataclass(frozen=True)
class ConfigTable:
    """The configurations of a file, by the M that they are for; None: for the problem as it is.

    A configuration keyed by M holds that M as well, so that an answer says which it is of. `names` are what the
    file calls each of them.
    """

    rows: dict[int | None, list[dict[str, Any]]]
    names: dict[int | None, list[str]]
    source: str


def read_configs(path: str | Path) -> ConfigTable:
    """The configurations of `path`. Raises `InputError` for a file that holds none."""
    place = Path(path)
    if place.suffix.lower() == ".csv":
        rows = _from_csv(place)
        return ConfigTable({None: rows}, {None: [f"row {n}" for n in range(1, len(rows) + 1)]}, str(place))
    data = load_json(place)
    if isinstance(data, list):
        if not data:
            raise _no_configs("the list is empty", place)
        names = [f"[{n}]" for n in range(len(data))]
        return ConfigTable(
            {None: [_object(*pair, place) for pair in zip(data, names, strict=True)]}, {None: names}, str(place)
        )
    if isinstance(data, Mapping):
        keyed = {_m_of(key, place): (key, item) for key, item in data.items() if re.fullmatch(r"[0-9]+", key)}
        if keyed:
            rows_of: dict[int | None, list[dict[str, Any]]] = {}
            for m, (key, item) in keyed.items():
                rows_of[m] = [{"M": m, **_object(item, key, place)}]
            return ConfigTable(rows_of, {m: [key] for m, (key, _) in keyed.items()}, str(place))
        return ConfigTable({None: [_object(data, "", place)]}, {None: ["the object"]}, str(place))
    raise _no_configs(f"a list or an object is wanted, got {shown(data)}", place)


def _m_of(key: str, place: Path) -> int:
    m = int(key) if len(key) <= len(str(MAX_EXTENT)) else 0
    if not 1 <= m <= MAX_EXTENT:
        raise InputError(Issue(f"M is a whole number from 1 to {MAX_EXTENT}", key, str(place)))
    return m


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
    """`prune` for every part of a table; a part for an M is judged, and ranked, on the problem with that M.

    M is an operator's m, or the tokens of a mixture of experts. A configuration that cannot be read is rejected
    with a note. Raises `InputError` where none can, or the table is keyed by M and the operator has none.
    """
    kept, rejected, faults = [], [], []
    notes: dict[str, None] = {}
    rank = ""
    for m, configs in table.rows.items():
        part = problem if m is None else _with_m(problem, m)
        try:
            answer = prune_problem(configs, part, top, allow_soft, table.names[m])
        except InputError as error:
            issues = [issue for issue in error.issues if issue.where.startswith(tuple(table.names[m]))]
            if len(issues) < len(error.issues):
                raise
            faults += [replace(issue, source=table.source) for issue in issues]
            rejected += [Rejected.model_construct(config=config, violations=[UNREADABLE]) for config in configs]
            notes |= dict.fromkeys(f"{UNREADABLE}: {issue}" for issue in issues)
            continue
        rank = answer.rank
        kept += answer.kept
        rejected += answer.rejected
        notes |= dict.fromkeys(answer.notes)
    if faults and all(item.violations == [UNREADABLE] for item in rejected) and not kept:
        raise InputError(faults)
    return PruneAnswer.model_construct(rank=rank, kept=kept, rejected=rejected, notes=list(notes))


def _with_m(problem: Problem, m: int) -> Problem:
    """The problem for an M: a GEMM's own, or a mixture of experts' tokens."""
    op = problem.op
    if "m" in type(op).model_fields:
        name = "m"
    elif getattr(op, "tokens", None) is not None and getattr(op, "experts", None) is not None:
        name = "tokens"
    else:
        kind = getattr(op, "kind", "operator")
        message = f"the configurations are keyed by M, and {kind} has no m"
        hint = "a grouped_gemm takes M as its tokens where it says experts, tokens and top_k"
        raise InputError(Issue(message, "op", problem.source, hint))
    changed = {**op.model_dump(exclude_none=True), name: m}
    return problem.replace(op=validate(type(op), changed, problem.source, "op"))
