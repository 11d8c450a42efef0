"""`tilesearch prune`: what `check --configs` does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions, language_hints


@command
def prune(
    given: ProblemOptions,
    configs: Annotated[
        Path, typer.Option("--configs", metavar="FILE", help="A JSON list, a CSV, or vLLM's JSON keyed by M.")
    ],
) -> Reply:
    """Keep the configurations of a file that run, best first, and say why the others do not."""
    return pruned(given, configs)


def pruned(given: ProblemOptions, configs: Path) -> Reply:
    """The reply to a file of configurations: status 1 where none of them runs."""
    from tilesearch.api.config_tables import prune_table, read_configs
    from tilesearch.report.languages import prune_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        top = problem.search.top if given.top is not None else None
        answer = prune_table(read_configs(configs), problem, top, allow_soft=True)
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
        hints = language_hints(problem)
    return Reply(prune_report(answer, about, hints), 0 if answer.kept else 1)
