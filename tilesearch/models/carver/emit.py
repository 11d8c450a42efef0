"""From ranked tiles to hints (carver notes, section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilesearch.models.carver.policies import DefaultPolicy
from tilesearch.models.carver.result import Hint, NodeHint, Row, RSteps, Trial
from tilesearch.models.carver.threads import block_sizes


def emit(policy: DefaultPolicy, rows: Sequence[Row], order: Iterable[int], topk: int) -> tuple[list[Trial], list[Hint]]:
    """Up to `topk` hints of the rows in `order`: each tile gives one, or none when no thread count works.

    Raises `UnplacedFactorError` where carver's own call would end in an assertion.
    """
    trials: list[Trial] = []
    hints: list[Hint] = []
    for number in order:
        row = rows[number]
        rsteps = policy.grow(row)
        sizes = block_sizes(row.node_tiles, rsteps, policy.device)
        threads, hint = _first(policy, row, rsteps, sizes)
        place = None if hint is None else len(hints)
        trials.append(Trial(number, rsteps, policy.smem_cost(row.node_tiles, rsteps), sizes, threads, place))
        if hint is not None:
            hints.append(hint)
        if len(hints) >= topk:
            break
    return trials, hints


def _first(
    policy: DefaultPolicy, row: Row, rsteps: RSteps, sizes: Sequence[int]
) -> tuple[int, Hint] | tuple[None, None]:
    """The first thread count that every node can be assigned, with the hint that it makes."""
    for threads in sizes:
        found: list[NodeHint] = []
        for node, tile, rstep in zip(policy.graph.nodes, row.node_tiles, rsteps, strict=True):
            hint = policy.assign(node, tile, rstep, threads)
            if hint is None:
                break
            found.append(hint)
        else:
            return threads, Hint(tuple(found))
    return None, None
