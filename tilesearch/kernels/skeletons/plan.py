"""What both skeletons are made of: the loops, tiles and index expressions of a program, as names and text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesearch.program.form import Axis, Contraction, Dim, Program, Role, Tensor
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry


def identifier(name: str) -> str:
    """A name that Python accepts: ``cos_sin byte`` becomes ``cos_sin_byte``."""
    plain = re.sub(r"\W+", "_", name).strip("_") or "x"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def wrapped(text: str) -> str:
    """An expression that may be multiplied: in parentheses unless it is a name, an element or in them already."""
    return text if re.fullmatch(r"\w+(\[[^]]*\])?|\([^()]*\)", text) else f"({text})"


def tuple_text(items: Sequence[object]) -> str:
    """``(1, 2)``, and ``(1,)`` for a single one."""
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


RUN = 4096
"""Indices that a step takes of a reduction that is walked through without being staged."""


@dataclass(frozen=True)
class Plan:
    """A program with a tile, for warps of `warp_size` threads."""

    program: Program
    tile: Mapping[str, int]
    warp_size: int

    @cached_property
    def _geometry(self) -> Geometry:
        return Geometry(self.program, frozenset(self.tile))

    def size(self, dim: Dim) -> int:
        """Indices of a dimension that a block, or a step of it, covers."""
        if dim in self.loops and dim.whole:
            return RUN
        return int(evaluate(self._geometry.tile(dim), self.tile))

    def ragged(self, dim: Dim) -> bool:
        """Whether the last tile along the dimension passes its end."""
        return dim.extent % self.size(dim) != 0 or bool(dim.pieces)

    def blocks(self, dim: Dim) -> int:
        """Blocks along a parallel dimension."""
        return int(evaluate(self._geometry.blocks_along(dim), self.tile))

    @property
    def grid(self) -> int:
        """Blocks of the launch."""
        return int(evaluate(self._geometry.grid(), self.tile))

    @property
    def splits(self) -> int:
        """Parts of the split reduction."""
        return int(evaluate(self._geometry.split, self.tile))

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warp_size * self.warps

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.tile.get("num_warps", 1)

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        return self.tile.get("num_stages", 1)

    @property
    def parallel(self) -> tuple[Dim, ...]:
        """Dimensions that the blocks of the grid partition, outermost first."""
        return tuple(dim for dim in self.program.parallel if not dim.whole)

    @cached_property
    def loops(self) -> tuple[Dim, ...]:
        """Reductions that a block walks through, outermost first: in steps of a tile, or of a run where it is long."""
        staged = {self.program.owner(n).name for t in self.program.tensors if t.staged for n in t.dims}
        return tuple(
            d
            for d in self.program.dims
            if d.looped or (d.reduce and d.whole and d.name not in staged and d.extent > RUN)
        )

    def spread(self, tensor: Tensor) -> list[Dim]:
        """The dimensions along which a tile of the tensor extends, in the tensor's order."""
        names = [name for axis in tensor.axes for name, _ in axis.terms]
        owners = [self.program.owner(name) for name in names if name != self.program.owner(name).piece]
        return [dim for dim in dict.fromkeys(owners) if self.size(dim) > 1]

    def moved(self, *roles: Role) -> list[Tensor]:
        """Tensors of these roles, in the program's order."""
        return [tensor for tensor in self.program.tensors if tensor.role in roles]

    def streams(self, tensor: Tensor) -> bool:
        """Whether each step of the loop meets another part of the tensor."""
        return any(dim.name in self.program.owners(tensor) for dim in self.loops)

    def strides(self, tensor: Tensor) -> list[int]:
        """Elements between neighbours along each axis of the tensor."""
        sizes = [axis.extent for axis in tensor.axes]
        return [prod(sizes[place + 1 :]) for place in range(len(sizes))]

    def index(self, axis: Axis, names: Mapping[str, str]) -> str:
        """The index expression of an axis, over the names of its dimensions."""
        terms = [names[name] if step == 1 else f"{step} * {wrapped(names[name])}" for name, step in axis.terms]
        terms = [term for term in terms if term != "0"] + ([str(axis.offset)] if axis.offset else [])
        text = " + ".join(terms).replace("+ -", "- ") or "0"
        return text if axis.divisor == 1 else f"{wrapped(text)} // {axis.divisor}"

    def parts(self, dim: Dim, name: str) -> dict[str, str]:
        """How each name of a dimension is had from the index `name` of the whole."""
        found = {dim.name: name}
        inner, outermost = dim.extent, True
        for part, extent in dim.parts:
            inner //= extent
            text = f"{name} // {inner}" if inner > 1 else name
            text = text if outermost or extent == 1 else f"{text} % {extent}"
            found[part] = "0" if extent == 1 else text
            outermost = outermost and extent == 1
        if dim.piece:
            found[dim.piece] = f"group_of_{identifier(dim.name)}"
        return found

    def operands(self, product: Contraction) -> tuple[list[Dim], list[Dim]]:
        """The dimensions of a product's two operands, in the order that a matrix instruction wants them."""
        m, n, k = (self.program.dim(name) for name in (product.m, product.n, product.k))
        return [m, k], [k, n]

    def work(self) -> list[str]:
        """The arithmetic that is left to fill in: what is not one of the products."""
        products = [{p.m, p.n, p.k} for p in self.program.contractions]
        lines = []
        for term in self.program.terms:
            owners = {self.program.owner(name).name for name in term.dims}
            if term.unit == self.program.roof and any(p <= owners for p in products):
                continue
            points = ", ".join(term.dims)
            lines.append(f"{term.name}: {term.per_point} operation(s) for each ({points}), {term.unit}")
        return lines
