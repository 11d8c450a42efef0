"""What every kind of replay shares: reading rows, comparing, and the tally that becomes the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from tilesearch.answers import Disagreement, VerifyAnswer
from tilesearch.errors import InputError, Issue
from tilesearch.specs.validation import find_issues, load_json, shown

R = TypeVar("R", bound=BaseModel)
Place = int | str

_FLOAT_NOISE = 1e-12
_MOST_ISSUES = 20


@dataclass
class Tally:
    """How a replay goes: rows that agree, rows skipped by reason, rows that disagree."""

    kind: str
    agree: int = 0
    disagree: list[Disagreement] = field(default_factory=list)
    skipped: dict[str, list[Place]] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)

    def compare(self, place: Place, expected: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        """Count a row. A disagreement keeps only the keys that differ."""
        wrong = [key for key in expected if expected[key] != got.get(key)]
        if not wrong:
            self.agree += 1
            return
        self.differ(place, {key: expected[key] for key in wrong}, {key: got.get(key) for key in wrong})

    def differ(self, place: Place, expected: Any, got: Any) -> None:
        """Count a row that disagrees."""
        self.disagree.append(Disagreement(row=place, expected=expected, got=got))

    def skip(self, place: Place, reason: str) -> None:
        """Leave a row out, and say why."""
        self.skipped.setdefault(reason, []).append(place)

    def answer(self) -> VerifyAnswer:
        """The tally as the command prints it."""
        skipped = sum(len(places) for places in self.skipped.values())
        stats = {**self.stats, **({"skipped": self.skipped} if skipped else {})}
        return VerifyAnswer(
            kind=self.kind,
            rows=self.agree + skipped + len(self.disagree),
            agree=self.agree,
            skipped=skipped,
            disagree=self.disagree,
            stats=stats,
            notes=[f"{len(places)} skipped: {reason}" for reason, places in self.skipped.items()],
        )


def close(expected: Any, got: Any, rel_tol: float = 0.0) -> bool:
    """Whether a figure is reproduced: equal, or numbers within `rel_tol` of the expected one."""
    if isinstance(expected, str) or isinstance(got, str):
        return bool(expected == got)
    return bool(abs(got - expected) <= (rel_tol + _FLOAT_NOISE) * abs(expected))


def read_rows(files: Sequence[Path], model: type[R], key: str = "") -> Iterator[tuple[Place, R]]:
    """Every row of `files`, checked, with its place: the row's number, after the file's name if there are several.

    A file is a list of rows, or an object that holds the list under `key`. All rows are checked before the
    first is given, so that bad input ends in one `InputError` and not in half an answer.
    """
    issues: list[Issue] = []
    rows: list[tuple[Place, R]] = []
    for path in files:
        for number, data in enumerate(_list_in(path, key)):
            where = f"{key}[{number}]"
            found = find_issues(model, data, str(path), where) if isinstance(data, Mapping) else None
            if found is None:
                issues.append(Issue(f"a row is an object, got {shown(data)}", where, str(path)))
            elif isinstance(found, list):
                issues += found
            else:
                rows.append((number if len(files) == 1 else f"{path.name}:{number}", found))
            if len(issues) >= _MOST_ISSUES:
                raise InputError([*issues, Issue("there may be more: the rest was not read", source=str(path))])
    if issues:
        raise InputError(issues)
    yield from rows


def _list_in(path: Path, key: str) -> list[Any]:
    data = load_json(path)
    rows = data.get(key) if isinstance(data, Mapping) and key else data
    if isinstance(rows, list) and rows:
        return rows
    wanted = f"an object with a list of rows under {key!r}" if key else "a list of rows"
    got = "there are no rows" if rows is None or rows == [] else f"got {shown(rows)}"
    raise InputError(Issue(f"{wanted} is wanted, {got}", key, str(path)))
