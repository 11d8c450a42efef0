"""Bytes that one block moves, with whole transactions charged for short runs (carver notes, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilesearch.models.carver.device import CarverDevice
from tilesearch.models.carver.graph import Access, Graph, Node, Sizes


def contig(region: Sequence[int], shape: Sequence[int]) -> int:
    """Elements of the region's contiguous run.

    Dimensions are compared from the last one; a whole one lets the run go on into the one before it.
    """
    run = 1
    for part, extent in zip(reversed(region), reversed(shape), strict=False):
        run *= part
        if part != extent:
            break
    return run


def moved(region: Sequence[int], shape: Sequence[int], transaction: int) -> float:
    """Elements that cross the bus for a region, in transactions of `transaction` elements; zero for no region.

    A run that is shorter than a transaction still costs a whole one.
    """
    elements = prod(region) if region else 0
    return transaction * elements / min(transaction, contig(region, shape)) if elements else 0.0


def read_bytes(node: Node, access: Access, tile: Sizes, device: CarverDevice) -> float:
    """Bytes read of one tensor, the reductions whole: block_K does not enter."""
    nbytes = access.buffer.nbytes
    return moved(access.trimmed(node.sizes(tile)), access.buffer.shape, device.read_bytes // nbytes) * nbytes


def write_bytes(node: Node, tile: Sizes, device: CarverDevice) -> float:
    """Bytes written of the node's output."""
    nbytes = node.output.nbytes
    return moved(node.output_region(tile), node.output.shape, device.write_bytes // nbytes) * nbytes


def traffic(graph: Graph, tiles: Sequence[Sizes], device: CarverDevice) -> float:
    """Bytes that a block moves: inputs from global memory and the last output. Hand-overs between nodes are free."""
    total = 0.0
    for node, tile in reversed(list(zip(graph.nodes, tiles, strict=True))):
        total += sum(read_bytes(node, access, tile, device) for access in node.reads if access.source is None)
        if node is graph.output:
            total += write_bytes(node, tile, device)
    return total
