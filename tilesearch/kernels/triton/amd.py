"""Triton on AMD's CDNA GPUs: shared memory of matrix products; registers and residency are not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, language_data, tile_of, tile_variables, variables
from tilesearch.kernels.evidence import unseen
from tilesearch.kernels.triton.operands import contiguous
from tilesearch.kernels.versions import since, variant_of, version_of
from tilesearch.program.form import Program
from tilesearch.rules import amd, compiled
from tilesearch.rules.expr import Expr, Var, as_expr, ceildiv, maximum, select, total
from tilesearch.rules.geometry import Geometry, storage
from tilesearch.rules.limits import constant_of
from tilesearch.rules.metrics import launch_metrics
from tilesearch.rules.model import Model, named
from tilesearch.rules.nvidia import TileShape
from tilesearch.rules.occupancy import Load
from tilesearch.specs.devices import AmdDevice


def build_amd(context: Context, device: AmdDevice) -> Model:
    """The model of a matrix product. Raises `InputError` for operators and variants of which nothing is known."""
    program, data = context.program, language_data("triton")
    if not program.contractions or program.kind == "attention":
        message = f"the triton language has no rules for {program.kind} on {device.vendor} devices yet"
        raise InputError(Issue(message, "op.kind", context.source))
    version = version_of(context.kernel, data["versions"], context.source)
    variant = variant_of(context.kernel, ["pointer", "split_k"], context.source, device=device.name)
    names = tuple(n for n in tile_variables(program) if not n.startswith("cluster_"))
    space, geometry = variables(context, names), Geometry(program, frozenset(names))
    tile = tile_of(geometry, program.contractions[0])
    threads = named("threads_per_block", tile.warps * constant_of(device, "warp_size"), "threads")
    held = named("accumulators_per_thread", ceildiv(geometry.held_bits(), threads * 32), "registers")
    asynchronous = device.gfx_target in since(data["amd"], version)["asynchronous"]
    shared = named("shared_bytes", shared_bytes(program, tile, data["amd_padding"] if asynchronous else None), "B")
    load = Load(threads=threads, registers=held, shared=shared, accumulators=held)
    sizes = [n for n in names if n.startswith("block_") or n == "num_warps"]
    rules = (
        amd.shared_memory(device, shared),
        amd.accumulators(device, held),
        amd.register_file(device, held),
        *compiled.powers_of_two(sizes, f"Triton {'.'.join(map(str, version))}"),
        amd.threads(device, threads),
    )
    notes = tuple(f"{rule.id} is not judged: {rule.unknown}" for rule in rules if rule.limit is None)
    seen = [row for row in data["seen"] if row["what"] == "shared memory"]  # C2.register_file says the rest
    notes += unseen(seen, "Triton", version, device, "matrix", variant)
    assumed = context.model.blocks_per_sm
    return launch_metrics(device, program, geometry, load, None, space, rules, assumed, notes)


def shared_bytes(program: Program, tile: TileShape, padding: Mapping[str, Any] | None) -> Expr:
    """Shared memory of one work-group; `padding` is that of asynchronous copies, None without them. Unit: B.

    Without them num_stages - 1 buffers of both operands, or one buffer that each takes in turn.
    """
    product, stages = program.contractions[0], Var("num_stages")
    a, b = program.tensor(product.a), program.tensor(product.b)
    sizes = [storage(tile.m * tile.k, a.dtype), storage(tile.k * tile.n, b.dtype)]
    if padding is None or max(a.dtype.bits, b.dtype.bits) > padding["widest_bits"]:
        buffers = stages - 1 if padding is None else stages
        return select(stages > 1, buffers * total(sizes), maximum(*sizes))
    padded = []
    for tensor, size in ((a, sizes[0]), (b, sizes[1])):
        pad = as_expr(padding["k_major"])
        if product.k not in contiguous(tensor):
            pad = select(tile.m <= padding["least_rows"], padding["other_at_least_rows"], padding["other"])
        elif tensor is a:
            pad = select(tile.m <= padding["few_rows"], 0, pad)
        padded.append(stages * (size + ceildiv(size, padding["each"]) * pad) - pad)  # none after the last KiB
    return select(stages > 1, total(padded), maximum(*sizes))
