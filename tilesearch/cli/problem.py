"""The options over a problem file, and faults named by the option that brought them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilesearch.errors import InputError, Issue

if TYPE_CHECKING:
    from tilesearch.specs.problems import Problem

Texts = list[str] | None

_KEYS = {
    "rank": ("search.rank", "--rank"),
    "top": ("search.top", "--top"),
    "engine": ("search.engine", "--engine"),
    "time_limit": ("search.time_limit_s", "--time-limit"),
    "preset": ("rules.preset", "--preset"),
    "roofs": ("model.roofs", "--roofs"),
}
_NUMBERS = ("top", "time_limit")
_QUESTIONS = {
    "sweep": "--sweep",
    "measured_us": "--measured-us",
    "measured_bytes": "--measured-bytes",
    "ranks": "--ranks",
    "split": "--split",
    "collective": "--collective",
    "chunks": "--chunks",
}
"""What commands ask beside the problem, by the name that faults in it go by."""


@dataclass(frozen=True)
class SourceOptions:
    """A problem file and what the command line puts in place of parts of it: what every command has."""

    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="A problem file, or the name of a shipped one.")]
    device: Annotated[
        str | None, typer.Option("--device", metavar="NAME|FILE", help="Another device than the file's.")
    ] = None
    roofs: Annotated[
        str | None,
        typer.Option("--roofs", metavar="ceiling|predict|datasheet|seed", help="Which calibrations of the roofs."),
    ] = None
    assignments: Annotated[
        Texts,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any key of the problem file: --set space.block_m=[64,128]. Repeatable."
        ),
    ] = None

    @contextmanager
    def opened(self) -> Iterator[Problem]:
        """The problem; faults found in it, here or later, are named by the option that brought them."""
        from tilesearch.specs.problems import load_problem

        overrides, names, issues = self._overrides()
        rules = tuple(getattr(self, "rule", None) or ())
        try:
            problem = load_problem(self.problem, overrides, self.device)
            if issues:
                raise InputError([])
            names |= _QUESTIONS
            names |= {f"rules.extra[{len(problem.rules.extra) + n}]": "--rule" for n in range(len(rules))}
            extra = problem.rules.model_copy(update={"extra": (*problem.rules.extra, *rules)})
            yield problem.replace(rules=extra)
        except InputError as error:
            found = [_placed(issue, names, self.problem) for issue in error.issues]
            raise type(error)([*issues, *found]) from None

    def _overrides(self) -> tuple[dict[str, Any], dict[str, str], list[Issue]]:
        """Values by dotted key, the option that each key comes from, and what is wrong with the options."""
        overrides, names, issues = _assigned(self.assignments or [])
        for field, (key, option) in _KEYS.items():
            text = getattr(self, field, None)
            if text is not None:
                overrides[key] = toml_value(text) if field in _NUMBERS else text
                names[key] = option
        if getattr(self, "allow_soft", False):
            overrides["search.allow_soft"] = True
            names["search.allow_soft"] = "--allow-soft"
        if self.device is not None:
            names["device"] = "--device"
        return overrides, names, issues


@dataclass(frozen=True)
class RuleOptions(SourceOptions):
    """For commands that look at all tiles: which rules apply, and when to stop."""

    preset: Annotated[
        str | None, typer.Option("--preset", metavar="default|seed-carver", help="Which rules apply.")
    ] = None
    rule: Annotated[
        Texts, typer.Option("--rule", metavar="EXPR", help="A rule of your own, such as 'block_k >= 32'. Repeatable.")
    ] = None
    time_limit: Annotated[
        str | None, typer.Option("--time-limit", metavar="SECONDS", help="When to stop with what was found.")
    ] = None


@dataclass(frozen=True)
class SearchOptions(RuleOptions):
    """For commands that choose a tile."""

    rank: Annotated[
        str | None, typer.Option("--rank", metavar="carver|traffic|time|EXPR", help="What comes first.")
    ] = None
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="auto|vector|cpsat|z3", help="Which engine searches.")
    ] = None
    allow_soft: Annotated[bool, typer.Option("--allow-soft", help="List tiles that break only soft rules as well.")] = (
        False
    )


@dataclass(frozen=True)
class ProblemOptions(SearchOptions):
    """For commands that list tiles."""

    top: Annotated[str | None, typer.Option("--top", metavar="N", help="How many tiles to list.")] = None


def _assigned(texts: list[str]) -> tuple[dict[str, Any], dict[str, str], list[Issue]]:
    overrides: dict[str, Any] = {}
    names: dict[str, str] = {}
    issues = []
    for text in texts:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not all(key.split(".")):
            issues.append(Issue(f"{text!r} is no assignment", "--set", hint="write --set section.key=value"))
            continue
        overrides[key] = toml_value(value)
        names[key] = f"--set {key}"
    return overrides, names, issues


def language_hints(problem: Problem) -> list[str]:
    """What to say where a configuration of an autotuner is judged as the hand-written kernel that a file names."""
    if problem.kernel.language != "generic":
        return []
    return [
        "judged by the generic language; --set kernel.language=triton (tilelang, cutlass) judges what those make of it"
    ]


def toml_value(text: str) -> Any:
    """`text` as a TOML value, or as it stands where it is none: ``fp16`` is a string, ``[64, 128]`` a list."""
    try:
        parsed = tomllib.loads(f"value = {text}\n")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text


def _placed(issue: Issue, names: dict[str, str], file: str) -> Issue:
    """The issue under the name of its option, or with the file where that is not said."""
    keys = [key for key in names if issue.where == key or issue.where.startswith((f"{key}.", f"{key}["))]
    if keys:
        key = max(keys, key=len)
        return replace(issue, where=names[key] + issue.where.removeprefix(key), source="")
    elsewhere = issue.source or issue.where.partition(".")[0] == "tile"
    return issue if elsewhere else replace(issue, source=file)
