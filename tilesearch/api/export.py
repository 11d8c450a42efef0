"""export: a tile as code that runs, or as the parameters of another program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesearch.answers import Tile
from tilesearch.answers.languages import ExportAnswer
from tilesearch.api.check import check_problem
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.preference import pipelined_first
from tilesearch.api.solve import rankable
from tilesearch.api.timing import about_time
from tilesearch.errors import InputError, Issue
from tilesearch.kernels.export import export as write
from tilesearch.kernels.export.registry import target_of
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

_PIPELINED = ("num_stages >= 3", "num_stages >= 2")


def export(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    to: str,
    tile: str | Mapping[str, int] | None = None,
    kernel: KernelLike | None = None,
    space: Mapping[str, Any] | None = None,
    rank: str | None = None,
) -> ExportAnswer:
    """`tile`, or the best there is, for ``to`` = triton, tilelang, cutlass or json.

    The tile is held to the rules of the target's language, whatever language the problem names (json: the
    problem's own). Raises `InputError` for a tile that does not fit, and for an operator without a template.
    """
    search = None if rank is None else {"rank": rank}
    return export_problem(make(op, device, kernel=kernel, space=space, search=search), to, tile)


def export_problem(problem: Problem, to: str, tile: str | Mapping[str, int] | None = None) -> ExportAnswer:
    """`export` for a problem that is ready."""
    language = target_of(to).language or problem.kernel.language
    if language != problem.kernel.language:
        problem = problem.replace(kernel=KernelSpec.model_validate({"language": language}))
    chosen = _best(problem) if tile is None else _checked(problem, tile)
    written = write(to, problem.op, problem.device, problem.kernel, chosen)
    notes = _notes(problem, chosen)
    return ExportAnswer(language=to, tile=Tile(**chosen), parameters=written.parameters, code=written.code, notes=notes)


def _notes(problem: Problem, tile: Mapping[str, int]) -> list[str]:
    """What there is to say of the tile: that it spills, and what the rules do not cover."""
    answer = check_problem(problem, tile)
    details = [f"{r.id}: {r.detail}" for r in answer.rules if r.ok is False]
    badly = [f"this tile {answer.verdict}: {'; '.join(details)}"] if answer.verdict == "spills" else []
    return [*badly, *(note for note in answer.notes if not about_time(note))]


def _best(problem: Problem) -> dict[str, int]:
    """The best tile of those that are pipelined, where some fit; of those that tie the one that waits least.

    The keys of carver and traffic do not see stages. Of Triton's builds on an H200 carver's first takes 4.9 times
    as long as the best on average, and 1.5 times where it is chosen among spill-free ones with three stages.
    """
    model = model_of(problem)
    ranked, _ = rankable(model, problem)
    ranked = ranked.replace(search=ranked.search.model_copy(update={"top": 1}))
    staged = "num_stages" in model.names and ranked.search.rank != "time"
    for rule in (*(_PIPELINED if staged else ()), None):
        extra = ranked.rules.extra if rule is None else (*ranked.rules.extra, rule)
        chosen = ranked.replace(rules=ranked.rules.model_copy(update={"extra": extra}))
        found = pipelined_first(chosen)
        if found:
            return found[0].tile.as_dict()
    hint = "tilesearch explain says why"
    raise InputError(Issue(f"no tile fits {problem.device.name} in {problem.kernel.language}", "tile", hint=hint))


def _checked(problem: Problem, tile: str | Mapping[str, int]) -> dict[str, int]:
    answer = check_problem(problem, tile)
    if not answer.feasible:
        near = answer.nearest[0].tile.as_dict() if answer.nearest else None
        hint = f"the nearest that does: {near}" if near else "tilesearch check says why"
        broken = ", ".join(answer.violations) or "a limit that is not known"
        raise InputError(Issue(f"the tile does not fit: {broken}", "tile", hint=hint))
    return answer.tile.as_dict()
