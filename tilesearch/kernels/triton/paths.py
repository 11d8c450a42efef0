"""Which matrix instruction a Triton tile runs on, and the rules that tl.dot has on its shape."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.rules.compiled import at_least
from tilesearch.rules.expr import FALSE, TRUE, Expr, all_of, maximum, member, negate
from tilesearch.rules.model import Remark, Rule, constant
from tilesearch.rules.nvidia import TileShape
from tilesearch.specs.dtypes import DType


@dataclass(frozen=True)
class Path:
    """The instruction of a tile. `wgmma` and `tcgen05` hold where the tile takes that family; `mma` says that the
    rest runs on warp-level instructions, and without it on the CUDA cores.
    """

    wgmma: Expr
    tcgen05: Expr
    mma: bool
    remarks: tuple[Remark, ...] = ()

    @property
    def has_instruction(self) -> bool:
        """Whether any tile runs on a matrix instruction."""
        return self.mma or self.wgmma is not FALSE or self.tcgen05 is not FALSE


def choose(compiler: Compiler, tile: TileShape, a: DType, b: DType, acc: DType) -> Path:
    """The path of a dot of `tile`: the widest family that the tile and its warps allow."""
    found = compiler.instructions(a, b, acc)
    wide = {
        family: _takes(compiler.data[family], tile) if family in found else FALSE for family in ("wgmma", "tcgen05")
    }
    remarks = [
        Remark(negate(takes), _fallback(family, compiler.data[family]))
        for family, takes in wide.items()
        if takes is not FALSE
    ]
    if not found:
        text = f"{compiler.source} has no matrix instruction here: products run on the CUDA cores, staged as fp32"
        remarks.append(Remark(TRUE, text))
    return Path(wide["wgmma"], wide["tcgen05"], "mma" in found, tuple(remarks))


def _takes(limits: dict[str, list[int] | int], tile: TileShape) -> Expr:
    warps = limits["warps"]
    assert isinstance(warps, list)
    return all_of(tile.m >= _whole(limits["min_m"]), tile.n >= _whole(limits["min_n"]), member(tile.warps, warps))


def _whole(value: list[int] | int) -> int:
    assert isinstance(value, int)
    return value


def _fallback(family: str, limits: dict[str, list[int] | int]) -> str:
    warps = limits["warps"]
    assert isinstance(warps, list)
    return (
        f"falls back from {family} to mma: {family} needs block_m >= {limits['min_m']} and "
        f"{' or '.join(map(str, warps))} warps"
    )


def dot_rules(compiler: Compiler, tile: TileShape, operand: DType) -> tuple[Rule, ...]:
    """C3: the least sizes that tl.dot takes, and the most elements of one tensor."""
    least = compiler.minimum_dot(operand)
    rules = tuple(
        at_least(
            f"C3.instruction_{axis}", f"block_{axis} is not below what tl.dot takes", size, least[axis], least["source"]
        )
        for axis, size in (("m", tile.m), ("n", tile.n), ("k", tile.k))
    )
    return (*rules, tensor_size(compiler, tile.m * tile.n, tile.m * tile.k, tile.k * tile.n))


def tensor_size(compiler: Compiler, *elements: Expr) -> Rule:
    """C3.tensor_size: the most elements that one tensor may have."""
    entry = compiler.data["max_tensor_elements"]
    return Rule(
        id="C3.tensor_size",
        sentence="no tensor has more elements than the language allows",
        value=maximum(*elements),
        limit=constant("max_tensor_elements", entry["value"]),
        unit="elements",
        source=entry["source"],
    )
