"""Matrix products in Triton: how shared memory adds up for pointer, TMA and persistent kernels."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.epilogue import conversion_scratch
from tilesearch.kernels.triton.operands import Operand, operand
from tilesearch.kernels.triton.paths import Path
from tilesearch.program.form import Program
from tilesearch.rules.expr import FALSE, Expr, Var, all_of, as_expr, maximum, negate, select, total
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.nvidia import TileShape


@dataclass(frozen=True)
class Kernel:
    """How the kernel is written: loads and stores through the TMA, a grid of persistent blocks."""

    tma: bool
    persistent: bool


def kernel_of(variant: str, compiler: Compiler) -> Kernel:
    """The kernel that a variant names; ``persistent`` goes through the TMA where the device has one."""
    tma = variant in ("tma", "persistent_tma") or (variant == "persistent" and compiler.has_tma)
    return Kernel(tma, variant.startswith("persistent"))


@dataclass(frozen=True)
class Product:
    """One product as the compiler sees it."""

    compiler: Compiler
    program: Program
    geometry: Geometry
    kernel: Kernel
    tile: TileShape
    path: Path
    operands: tuple[Operand, Operand]

    @property
    def stages(self) -> Expr:
        """num_stages."""
        return Var("num_stages")

    @property
    def computes_with_tensor_cores(self) -> bool:
        """Whether any tile runs on a matrix instruction."""
        return self.path.mma or self.path.wgmma is not FALSE or self.path.tcgen05 is not FALSE


def product_of(
    compiler: Compiler, program: Program, geometry: Geometry, kernel: Kernel, tile: TileShape, path: Path
) -> Product:
    """The program's first product."""
    first = program.contraction
    assert first is not None
    pair = tuple(operand(compiler, program, geometry, name, kernel.tma) for name in (first.a, first.b))
    return Product(compiler, program, geometry, kernel, tile, path, (pair[0], pair[1]))


def shared_bytes(product: Product) -> Expr:
    """Shared memory of one block. Unit: B."""
    if not product.computes_with_tensor_cores:
        return _simt_bytes(product)
    loop = total([*(_buffers(product, item) * item.tile_bytes for item in product.operands), _barriers(product)])
    return _with_epilogue(product, loop)


def _simt_bytes(product: Product) -> Expr:
    """Without a matrix instruction each operand is staged as fp32 in turn, whatever num_stages says."""
    return maximum(*(item.elements * 4 for item in product.operands))


def _buffers(product: Product, item: Operand) -> Expr:
    """Buffers that an operand keeps: num_stages, less the spare one on the mma path, one where no copy is async."""
    stages, path = product.stages, product.path
    spare = product.compiler.spare_buffers(item.dtype.bits)
    on_mma = maximum(1, stages - spare) if item.asynchronous else as_expr(1)
    on_wgmma = stages if item.asynchronous and (_in_place(product, item) or product.kernel.tma) else as_expr(1)
    on_tcgen05 = stages if item.asynchronous else select(stages > 1, 2, 1)
    return select(path.tcgen05, on_tcgen05, select(path.wgmma, on_wgmma, on_mma))


def _in_place(product: Product, item: Operand) -> bool:
    """Whether a wgmma reads the operand where it was copied to."""
    return item.k_major or item.dtype.bits in product.compiler.pipeline["in_place_bits"]


def _barriers(product: Product) -> Expr:
    """Bytes of mbarriers: one a buffer with the TMA (two with tcgen05), one or two for tcgen05's own completion.

    An operand that a wgmma cannot read in place goes through S - 1 buffers with barriers of their own and one
    buffer in the order that it can read.
    """
    stages, path, size = product.stages, product.path, product.compiler.number("barrier_bytes")
    if not product.kernel.tma:
        return select(path.tcgen05, select(stages > 1, 2 * size, size), 0)
    moved = sum(not _in_place(product, item) for item in product.operands)
    on_wgmma = size * stages + moved * size * maximum(0, stages - 1)
    on_mma = size * maximum(1, stages - product.compiler.spare_buffers(product.operands[0].dtype.bits))
    return select(path.tcgen05, 2 * size * stages, select(path.wgmma, on_wgmma, on_mma))


def _with_epilogue(product: Product, loop: Expr) -> Expr:
    """The loop's bytes with those of the epilogue: in the same place where the loop is over, beside it otherwise.

    A TMA store needs the output tile in shared memory. In a persistent kernel the next tile's copies are in
    flight by then, so it lies beside the pipeline; so does an integer tile (H200: 56 of 56 int8 builds).
    """
    out = product.program.outputs[0]
    acc = product.program.contractions[0].acc
    scratch: Expr
    if product.kernel.tma:
        scratch = product.tile.m * product.tile.n * out.dtype.bits // 8
    else:
        scratch = select(product.path.wgmma, conversion_scratch(product.compiler, out, product.tile), 0)
    if product.kernel.persistent:
        return select(product.stages > 1, loop + scratch, maximum(loop, scratch))
    if product.kernel.tma and not acc.is_float:
        return loop + scratch
    return maximum(loop, scratch)


def on_mma(path: Path) -> Expr:
    """Where the tile runs on warp-level instructions."""
    return all_of(negate(path.wgmma), negate(path.tcgen05))
