"""Carver's two policies: how a tile is judged, and how a ranked tile becomes a hint (carver notes, 4 to 8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, isqrt, prod

from tilesearch.models.carver import rsteps as rs
from tilesearch.models.carver.allocator import shared_bytes
from tilesearch.models.carver.device import CarverDevice, bits_of, pipeline_stages, rasterizes
from tilesearch.models.carver.factors import divisors
from tilesearch.models.carver.graph import Graph, Node, Sizes
from tilesearch.models.carver.result import NodeHint, Row, RSteps
from tilesearch.models.carver.templates import input_bytes
from tilesearch.models.carver.threads import (
    output_step,
    spread_threads,
    spread_warps,
    vector_widths,
)
from tilesearch.models.carver.traffic import traffic

_REGISTER_BITS = 32
_WMMA_K = 16
_SMALL_TILE = 32


class DefaultPolicy:
    """Threads over any function."""

    name = "DefaultPolicy"
    shared_scope = "shared"
    pipeline_stage = 1

    def __init__(self, graph: Graph, device: CarverDevice) -> None:
        self.graph = graph
        self.device = device
        self.candidates = tuple(self.rstep_candidates(node) for node in graph.nodes)
        self.rstep_init: RSteps = tuple(
            self.initial_rstep(node, steps) for node, steps in zip(graph.nodes, self.candidates, strict=True)
        )

    def rstep_candidates(self, node: Node) -> rs.Candidates:
        """Steps of each reduce axis, ascending."""
        return tuple(rs.candidates(extent) for extent in node.reduce)

    def initial_rstep(self, node: Node, steps: rs.Candidates) -> Sizes:
        """The step that every tile of the search is judged with."""
        return rs.climb(node, steps, self.device)

    def smem_cost(self, tiles: Iterable[Sizes], rsteps: RSteps) -> int:
        """Shared memory of a block."""
        tiles = list(tiles)
        needs = [
            node.footprint(tile, rstep) * self.pipeline_stage
            for node, tile, rstep in zip(self.graph.nodes, tiles, rsteps, strict=True)
        ]
        return shared_bytes(self.graph, tiles, needs)

    def evaluate(self, tile: Sizes) -> Row:
        """Cost of a tile: shared memory is tested first, then registers (carver notes, section 6).

        Registers are twice the largest node's output tile in 32-bit words of the output's type: accumulators in
        a wider type are not seen. Twice a block's most shared memory is taken for an SM's, so that two blocks
        always seem to fit.
        """
        device, nodes = self.device, self.graph.nodes
        tiles = tuple(self.graph.node_tiles(tile))
        smem = self.smem_cost(tiles, self.rstep_init)
        widest = max(prod(t) * node.bits / _REGISTER_BITS for node, t in zip(nodes, tiles, strict=True))
        registers = int(2 * widest)
        row = Row(tile, "ok", traffic(self.graph, tiles, device), smem, registers, tiles)
        if smem > device.smem_cap:
            return replace(row, status="smem")
        grid = _blocks(self.graph.output.space, tile)
        if registers > device.reg_cap:
            return replace(row, status="reg", grid_size=grid)
        resident = min(device.max_smem_usage // max(smem, 1), device.reg_cap // max(registers, 1), device.sm_partition)
        waves = ceil(grid / (resident * device.sms))
        return replace(row, grid_size=grid, block_per_sm=resident, num_wave=waves, priority=(row.traffic + 1) * waves)

    def shape_ok(self, row: Row) -> bool:
        """Whether a ranked tile may become a hint: every node has as many tiles as the output."""
        counts = {_blocks(n.space, t) for n, t in zip(self.graph.nodes, row.node_tiles, strict=True)}
        return counts == {row.grid_size}

    def grow(self, row: Row) -> RSteps:
        """Larger reduction steps for the hint, as far as the residency leaves room.

        Residency, waves and priority are not computed again.
        """
        rsteps = list(self.rstep_init)
        for number, node in enumerate(self.graph.nodes):
            tile = row.node_tiles[number]

            def score(rstep: Sizes, node: Node = node, tile: Sizes = tile) -> int:
                sizes = node.sizes(tile, rstep)
                return rs.runs([(access.trimmed(sizes), access.buffer.shape) for access in node.reads])

            def fits(rstep: Sizes, number: int = number) -> bool:
                trial = (*rsteps[:number], rstep, *rsteps[number + 1 :])
                return self.smem_cost(row.node_tiles, trial) <= self.room(row)

            rsteps[number] = rs.grow(self.candidates[number], rsteps[number], score, fits)
        return tuple(rsteps)

    def room(self, row: Row) -> int:
        """Bytes that one of the resident blocks may have."""
        return min(self.device.max_smem_usage // (row.block_per_sm or 1), self.device.smem_cap)

    def assign(self, node: Node, tile: Sizes, rstep: Sizes, threads: int) -> NodeHint | None:
        """The hint of one node with this many threads, None when they cannot be assigned."""
        counts, reducers = spread_threads(node, tile, rstep, threads, self.device)
        return NodeHint(
            block=tile,
            thread=counts,
            rstep=rstep,
            reduce_thread=reducers,
            step=output_step(tile, counts, node.bits),
            vectorize=vector_widths(node, tile, rstep, threads),
            cached_tensors=tuple(node.cached),
            shared_scope=self.shared_scope,
        )


class TensorCorePolicy(DefaultPolicy):
    """Warps with 16x16 tensor core tiles over functions that were rewritten to matrix products."""

    name = "TensorCorePolicy"
    shared_scope = "shared.dyn"

    def __init__(self, graph: Graph, device: CarverDevice) -> None:
        self.pipeline_stage = pipeline_stages(device) if len(graph.nodes) == 1 else 1
        super().__init__(graph, device)

    @property
    def use_async_copy(self) -> bool:
        """Asynchronous copies come with the second stage."""
        return self.pipeline_stage > 1

    def rstep_candidates(self, node: Node) -> rs.Candidates:
        """Multiples of 16, for narrower types as well."""
        return tuple(tuple(_WMMA_K * d for d in divisors(extent // _WMMA_K)) for extent in node.reduce)

    def initial_rstep(self, node: Node, steps: rs.Candidates) -> Sizes:
        """Two write transactions of the first operand where that divides the axis, or where nothing does."""
        basic = 2 * self.device.write_bytes * 8 // bits_of(node.staged[0].buffer.dtype)
        found = []
        for extent in node.reduce:
            if extent % _WMMA_K:
                found.append(_WMMA_K if extent < basic else basic)
            elif extent % basic == 0:
                found.append(basic)
            else:
                return super().initial_rstep(node, steps)
        return tuple(found)

    def shape_ok(self, row: Row) -> bool:
        """Besides DefaultPolicy's test: at least one instruction, and every axis divided exactly."""
        for node, tile in zip(self.graph.nodes, row.node_tiles, strict=True):
            if not any(tile[-2] >= m and tile[-1] >= n for m, n in self.device.mma_shapes):
                return False
            if any(extent % t for extent, t in zip(node.space, tile, strict=True)):
                return False
        return super().shape_ok(row)

    def grow(self, row: Row) -> RSteps:
        """As DefaultPolicy, but only small tiles, and against the wrong size.

        The footprint tested leaves the pipeline's stages out and is taken at the output's tile even for other
        nodes: what is emitted can exceed the device.
        """
        if not any(t <= _SMALL_TILE for tile in row.node_tiles for t in tile):
            return self.rstep_init
        found = []
        for number, node in enumerate(self.graph.nodes):
            tile = row.node_tiles[number]

            def score(rstep: Sizes, node: Node = node, tile: Sizes = tile) -> int:
                sizes = node.sizes(tile, rstep)
                return rs.runs([(access.trimmed(sizes), access.buffer.shape) for access in node.staged])

            def fits(rstep: Sizes, node: Node = node) -> bool:
                return node.footprint(row.tile, rstep) <= self.room(row)

            found.append(rs.grow(self.candidates[number], self.rstep_init[number], score, fits))
        return tuple(found)

    def assign(self, node: Node, tile: Sizes, rstep: Sizes, threads: int) -> NodeHint | None:
        """The hint of one node; a batch axis is dropped from it, whatever its tile."""
        warp = spread_warps(node, tile, threads, self.device)
        if warp is None:
            return None
        return NodeHint(
            block=tile[-2:],
            warp=warp[-2:],
            rstep=rstep,
            vectorize=vector_widths(node, tile, rstep, threads),
            pipeline_stage=self.pipeline_stage,
            use_async=self.use_async_copy,
            rasterization=self._rasterization(),
            cached_tensors=tuple(node.cached),
            shared_scope=self.shared_scope,
        )

    def _rasterization(self) -> tuple[str, int] | None:
        """Columns of about the square root of the SM count, for single functions whose inputs overflow the L2."""
        device = self.device
        if len(self.graph.nodes) > 1 or not rasterizes(device) or input_bytes(self.graph) < device.l2_cache_size_bytes:
            return None
        return "Rasterization2DColumn", isqrt(device.sms)


def _blocks(space: Sizes, tile: Sizes) -> int:
    return prod(-(-extent // t) for extent, t in zip(space, tile, strict=True))
