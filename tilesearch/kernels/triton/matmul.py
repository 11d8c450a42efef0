"""Matrix products in Triton: how shared memory adds up for pointer, TMA and persistent kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.epilogue import conversion_scratch
from tilesearch.kernels.triton.operands import Operand, operand
from tilesearch.kernels.triton.paths import Path
from tilesearch.kernels.versions import since
from tilesearch.program.form import Program
from tilesearch.rules.expr import Expr, Var, as_expr, maximum, minimum, select, total
from tilesearch.rules.model import Rule, constant
from tilesearch.rules.nvidia import TileShape
from tilesearch.specs.dtypes import DType


@dataclass(frozen=True)
class Kernel:
    """How the kernel is written: loads and stores through the TMA, a grid of persistent blocks, which take whole tiles
    or (stream-K) equal shares of all steps of all tiles.
    """

    tma: bool
    persistent: bool
    stream: bool = False


def kernel_of(variant: str) -> Kernel:
    """The kernel that a variant names."""
    if variant == "stream_k":
        return Kernel(tma=False, persistent=False, stream=True)
    return Kernel(variant in ("tma", "persistent_tma"), variant.startswith("persistent"))


@dataclass(frozen=True)
class Product:
    """One product as the compiler sees it."""

    compiler: Compiler
    program: Program
    kernel: Kernel
    tile: TileShape
    path: Path
    operands: tuple[Operand, Operand]

    @property
    def stages(self) -> Expr:
        """num_stages."""
        return Var("num_stages")


def product_of(compiler: Compiler, program: Program, kernel: Kernel, tile: TileShape, path: Path) -> Product:
    """The program's first product."""
    first = program.contraction
    assert first is not None
    loaded = ((first.a, tile.m * tile.k), (first.b, tile.k * tile.n))
    a, b = (operand(compiler, program, name, elements, kernel.tma) for name, elements in loaded)
    return Product(compiler, program, kernel, tile, path, (a, b))


def is_computable(compiler: Compiler, operand: DType) -> bool:
    """Whether the CUDA cores multiply operands of that type after a conversion to fp32: 16 bits and wider."""
    return operand.bits >= 16


def needs_tma(compiler: Compiler) -> Rule:
    """C3.tma: the kernel's descriptors need hardware that not every device has."""
    return Rule(
        id="C3.tma",
        sentence="the device has a tensor memory accelerator, which the variant loads through",
        value=constant("has_tma", int(compiler.has_tma)),
        limit=constant("needed", 1),
        relation="ge",
        source="PTX ISA, cp.async.bulk.tensor: compute capability 9.0 and later",
        note=f"{compiler.device.name} (compute capability {compiler.device.compute_capability}) has no tensor memory "
        "accelerator, which the variant loads through",
    )


def tma_rules(product: Product) -> tuple[Rule, ...]:
    """C3.tma: where the kernel loads through the TMA, row strides are multiples of what a tensor map takes."""
    if not product.kernel.tma:
        return ()
    limits = product.compiler.device.tma
    if limits is None:
        return (needs_tma(product.compiler),)
    multiple, program = limits.global_stride_multiple, product.program
    rules = []
    for tensor in (
        program.tensor(product.operands[0].name),
        program.tensor(product.operands[1].name),
        program.outputs[0],
    ):
        stride = tensor.axes[-1].extent * tensor.dtype.bits // 8
        rules.append(
            Rule(
                id=f"C3.tma_stride.{tensor.name}",
                sentence=f"the row stride of {tensor.name} is a multiple of what a tensor map takes",
                value=constant(f"row_bytes({tensor.name})", stride),
                limit=constant("global_stride_multiple", int(multiple.value or 1)),
                relation="multiple",
                unit="B",
                source=str(multiple.source or ""),
            )
        )
    return tuple(rules)


def shared_bytes(product: Product) -> Expr:
    """Shared memory of one block. Unit: B."""
    if not product.path.has_instruction:
        return _simt_bytes(product)
    loop = total([*(_buffers(product, item) * item.tile_bytes for item in product.operands), _barriers(product)])
    loop = loop + _scales(product)
    return _with_epilogue(product, loop)


def facts(product: Product) -> dict[str, Expr]:
    """What a model of time wants to know beside the metrics: the instruction, and how operands are brought in.

    `buffers`: stages that are kept of the operand with fewer; `narrow`: operands that are loaded an element at a time.
    """
    narrow = sum(not item.hinted for item in product.operands)
    return {
        "wgmma": product.path.wgmma,
        "tma": as_expr(product.kernel.tma),
        "buffers": minimum(*(_buffers(product, item) for item in product.operands)),
        "narrow": as_expr(narrow),
    }


def narrow_notes(product: Product) -> tuple[str, ...]:
    """A note for each operand that is loaded an element at a time: what its rows lack, and what mends it."""
    notes = []
    for item in product.operands:
        if item.hinted:
            continue
        extent, divisor = product.program.tensor(item.name).axes[-1].extent, product.compiler.number("hint_divisor")
        padded = -(-extent // divisor) * divisor
        stages = "" if item.asynchronous else ", and through registers, so that stages hide nothing"
        notes.append(
            f"{item.name} has rows of {extent} elements, which {divisor} does not divide: Triton loads them one by "
            f"one{stages}; rows padded to {padded} mend it"
        )
    return tuple(notes)


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
    on_wgmma = size * stages + (moved * size * maximum(0, stages - 1) if moved else 0)
    on_mma = size * maximum(1, stages - product.compiler.spare_buffers(product.operands[0].dtype.bits))
    return select(path.tcgen05, 2 * size * stages, select(path.wgmma, on_wgmma, on_mma))


def _scales(product: Product) -> Expr:
    """Bytes that block scales need: a vector of fp32 scales, or in old versions the tile they are applied to."""
    if product.program.kind != "block_scaled_gemm":
        return as_expr(0)
    tile = product.tile
    if since(product.compiler.data["block_scales"], product.compiler.version)["tile"]:
        padded = 4 * minimum(tile.m, product.compiler.fragment_rows * tile.warps) * (tile.n + 4)
        return select(product.path.wgmma, padded, 0)
    longest = maximum(tile.m, tile.n)
    return select(longest >= product.compiler.lanes * tile.warps, 4 * longest, 0)


def _with_epilogue(product: Product, loop: Expr) -> Expr:
    """The loop's bytes with those of the epilogue: in the same place where the loop is over, beside it otherwise.

    Stream-K reads the sums of a shared tile in the order of memory, and brings them into that of the accumulator.

    A TMA store needs the output tile in shared memory. In a persistent kernel the next tile's copies are in
    flight by then, so it lies beside the pipeline; so does an integer tile (H200: 56 of 56 int8 builds).
    """
    out = product.program.outputs[0]
    acc = product.program.contractions[0].acc
    scratch: Expr
    if product.kernel.tma:
        scratch = product.tile.m * product.tile.n * out.dtype.bits // 8
    else:
        scratch = conversion_scratch(product.compiler, out, product.tile, product.path)
        if product.kernel.stream:
            sums = replace(out, dtype=acc)
            scratch = maximum(scratch, conversion_scratch(product.compiler, sums, product.tile, product.path))
        scratch = select(product.path.tcgen05, 0, scratch)
    if product.kernel.persistent:
        return select(product.stages > 1, loop + scratch, maximum(loop, scratch))
    if product.kernel.tma and not acc.is_float:
        return loop + scratch
    return maximum(loop, scratch)
