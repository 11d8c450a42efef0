"""A run as the oracle files (``carver-oracle/1``) record it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilesearch.models.carver.device import CarverDevice
from tilesearch.models.carver.graph import Access, Graph, Node, Sizes
from tilesearch.models.carver.result import CarverRun, Row, RSteps, Trial
from tilesearch.models.carver.tensorize import TENSOR_CORE_AXES
from tilesearch.models.carver.traffic import contig, read_bytes, write_bytes

BLOCK_SIZES_SHOWN = 8
"""Thread counts of a trial that a file lists."""


def record(run: CarverRun, columns: Sequence[str], sampled: Sequence[int]) -> dict[str, Any]:
    """Everything a file holds of a run but its inputs.

    `columns` are those of the rows, `sampled` the rows whose regions are shown.
    """
    graph, setting = run.graph, run.setting
    assert graph is not None
    assert setting is not None
    rows = [row.as_dict() for row in run.rows]
    found: dict[str, Any] = {
        "nodes": [_node(number, node) for number, node in enumerate(graph.nodes)],
        "pipeline_stage": setting.pipeline_stage,
        "use_async_copy": setting.use_async_copy,
        "block_reduction_depth": None,
        "base_tile": _lists(setting.base_tile),
        "steps": _lists(setting.steps),
        "rstep_candidates": _lists(setting.rstep_candidates),
        "rstep_init": _lists(setting.rstep_init),
        "counts": run.counts,
        "ranking": list(run.ranking),
        "shape_ok": "".join("1" if ok else "0" for ok in run.shape_ok),
        "rows": [{name: row.get(name) for name in columns} for row in rows],
        "emit": [_trial(trial) for trial in run.trials],
        "hints": [hint.as_dict() for hint in run.hints],
    }
    known = [number for number in sampled if 0 <= number < len(run.rows)]
    found["samples"] = [_sample(graph, n, run.rows[n], setting.rstep_init, run.device) for n in known]
    return found


def _lists(value: Any) -> Any:
    return [_lists(part) for part in value] if isinstance(value, tuple) else value


def _node(number: int, node: Node) -> dict[str, Any]:
    inputs = [
        {
            "name": access.buffer.name,
            "shape": list(access.buffer.shape),
            "dtype": access.buffer.dtype,
            "from": "global" if access.source is None else f"node{access.source}",
        }
        for access in node.reads
    ]
    output = {"name": node.output.name, "shape": list(node.output.shape), "dtype": node.output.dtype}
    found = {
        "node": number,
        "name": node.name,
        "space_dim": list(node.space),
        "dtype": node.output.dtype,
        "bits": node.bits,
        "reduce_axes": list(node.reduce),
        "inputs": inputs,
        "outputs": [output],
        "blocks": [block.as_dict() for block in node.blocks],
    }
    if node.intrinsic is not None:
        found["tensorcore_axes"] = list(TENSOR_CORE_AXES)
        found["intrin_info"] = node.intrinsic.as_dict()
    return found


def _trial(trial: Trial) -> dict[str, Any]:
    found = {
        "row": trial.row,
        "rstep": _lists(trial.rstep),
        "smem_cost": trial.smem_cost,
        "block_sizes": list(trial.block_sizes[:BLOCK_SIZES_SHOWN]),
        "threads": trial.threads,
    }
    return found if trial.hint is None else {**found, "hint": trial.hint}


def _sample(graph: Graph, number: int, row: Row, rsteps: RSteps, device: CarverDevice) -> dict[str, Any]:
    """The regions of one tile, node by node."""
    nodes = [
        _regions(node, tile, rstep, device, last=node is graph.output)
        for node, tile, rstep in zip(graph.nodes, row.node_tiles, rsteps, strict=True)
    ]
    return {"row": number, "nodes": nodes}


def _regions(node: Node, tile: Sizes, rstep: Sizes, device: CarverDevice, last: bool) -> dict[str, Any]:
    written = node.output_region(tile)
    found = {
        "tile": list(tile),
        "inputs": [_input(node, access, tile, device) for access in node.reads],
        "footprint_one_stage": node.footprint(tile, rstep),
        "cached": node.cached,
        "output_region": [list(written)],
    }
    if last:
        found["output_contig"] = contig(written, node.output.shape)
        found["output_bytes"] = write_bytes(node, tile, device)
    return found


def _input(node: Node, access: Access, tile: Sizes, device: CarverDevice) -> dict[str, Any]:
    region = access.trimmed(node.sizes(tile))
    found: dict[str, Any] = {"region": list(region)}
    if access.source is None:
        found["contig"] = contig(region, access.buffer.shape)
        found["bytes"] = read_bytes(node, access, tile, device)
    return found
