"""Products that are not one plain GEMM: a convolution walks its filter's places, groups have matrices of their own."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tilesearch.models.time.block import Block
from tilesearch.models.time.launch import Values
from tilesearch.models.time.traffic import Memory
from tilesearch.program.form import Program, Role


def walks(program: Program) -> int:
    """How often a block walks the K of its product: once for each place of a convolution's filter."""
    product = program.contractions[0]
    return prod(d.extent for d in program.dims if d.reduce and not d.whole and d.name != program.owner(product.k).name)


def walked(block: Block, program: Program) -> Block:
    """The block with the steps of all its walks."""
    return replace(block, steps=block.steps * walks(program))


def at_least(memory: Memory, program: Program, planes: Values) -> Memory:
    """Memory that reads every input once at least, `planes` copies of the product's plane together: the matrices of
    all groups, all places of a filter.
    """
    inputs = (t for t in program.tensors if t.role in (Role.INPUT, Role.TABLE))
    floor = sum(float(program.tensor_bytes(t)) for t in inputs) / planes
    reads, least, most = (np.maximum(values, floor) for values in (memory.reads, memory.least, memory.most))
    return replace(memory, reads=reads, least=least, most=most)
