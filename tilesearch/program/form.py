"""The program form: named dimensions, tensors indexed by them, and arithmetic terms.

Everything that the project knows of an operator is derived from this form: the ledger (flops, bytes), a
tile's footprint, its traffic and its grid. Nothing downstream asks what kind of operator it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from tilesearch.program.indexing import Axis, Band, Dim, Role, Tensor, band_points, flattened
from tilesearch.program.touch import Component, components, touched
from tilesearch.specs.dtypes import DType

__all__ = [
    "Axis", "Band", "Component", "Contraction", "Dim", "Held", "Profile", "Program", "Role", "Split", "Tensor", "Term",
    "flattened",
]  # fmt: skip


@dataclass(frozen=True)
class Term:
    """A line of arithmetic: `per_point` operations at each point of `dims`, done by `unit`.

    A multiply-add is two operations. `unit` is a roof's name such as ``tensor_core.fp16``; special functions
    (exp, rsqrt, sin, …) are terms of their own on ``sfu.fp32``, one operation each.
    """

    name: str
    unit: str
    per_point: int
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """How a reduction may be cut across blocks: `variable` parts of `dim`, each leaving partial outputs.

    Part p of s takes the indices from ``p * extent // s`` to ``(p + 1) * extent // s``. Partials of `partial`
    dtype are written by the parts and read once by the kernel that adds them up. `statistics` counts further
    partial elements beside the outputs (a log-sum-exp for each row, say).
    """

    variable: str
    dim: str
    partial: DType
    statistics: int = 0


@dataclass(frozen=True)
class Contraction:
    """A matrix product in the operator, for the rules on instruction shapes.

    `m`, `n` and `k` are names of dimensions. `a` and `b` name what is multiplied: tensors, or a `Held` tile;
    they are multiplied in their own types, or both in `computed` after a conversion on chip. `scaled` products
    need an instruction that applies block scales.
    """

    m: str
    n: str
    k: str
    a: str
    b: str
    acc: DType
    computed: DType | None = None
    scaled: bool = False


@dataclass(frozen=True)
class Held:
    """A tile that stays in registers while a block works: accumulators, or values on their way through."""

    name: str
    dims: tuple[str, ...]
    dtype: DType


Profile = Literal["matrix", "decode", "vector", "rows", "elements"]
"""What shape of kernel a program asks for, which is what default domains depend on:

matrix: tiles of a matrix product; decode: a few rows against a long reduction, worth splitting; vector: a
matrix streamed once against vectors; rows: whole rows, reduced and transformed; elements: independent elements.
"""


@dataclass(frozen=True)
class Program:
    """An operator in the one internal form."""

    kind: str
    dims: tuple[Dim, ...]
    tensors: tuple[Tensor, ...]
    terms: tuple[Term, ...]
    roof: str
    contractions: tuple[Contraction, ...] = ()
    held: tuple[Held, ...] = ()
    split: Split | None = None
    band: Band | None = None
    profile: Profile = "matrix"
    constants: Mapping[str, int] = field(default_factory=dict)

    @property
    def contraction(self) -> Contraction | None:
        """The first matrix product, None where there is none."""
        return self.contractions[0] if self.contractions else None

    def dim(self, name: str) -> Dim:
        """The dimension of that name."""
        return next(d for d in self.dims if d.name == name)

    def owner(self, name: str) -> Dim:
        """The dimension that goes by `name` or has it as a part."""
        return next(d for d in self.dims if name in d.names)

    def extent(self, name: str) -> int:
        """The extent of a dimension or a part."""
        return self.owner(name).names[name]

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return next(t for t in self.tensors if t.name == name)

    def dtype_of(self, name: str) -> DType:
        """The dtype of a tensor or a held tile."""
        types = {item.name: item.dtype for item in self.held} | {item.name: item.dtype for item in self.tensors}
        return types[name]

    def owners(self, tensor: Tensor) -> frozenset[str]:
        """Names of the dimensions that index `tensor`, by themselves or by a part."""
        return frozenset(self.owner(name).name for name in tensor.dims)

    @property
    def parallel(self) -> tuple[Dim, ...]:
        """Dimensions that blocks partition."""
        return tuple(d for d in self.dims if not d.reduce)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Tensors that are written."""
        return tuple(t for t in self.tensors if t.role is Role.OUTPUT)

    @property
    def flops(self) -> int:
        """Operations of all terms together."""
        return sum(self.term_flops(term) for term in self.terms)

    def term_flops(self, term: Term) -> int:
        """Operations of one term: `per_point` times the points of its dimensions that the band keeps."""
        band = self.band
        if band is None or not {band.row, band.col} <= set(term.dims):
            return term.per_point * prod(self.extent(name) for name in term.dims)
        rest = prod(self.extent(name) for name in term.dims if name not in (band.row, band.col))
        return term.per_point * rest * band_points(band, self.extent(band.row), self.extent(band.col))

    def tensor_bytes(self, tensor: Tensor) -> int:
        """Bytes of `tensor` that any kernel must move once: the entries that some point meets. Unit: B."""
        return tensor.dtype.storage_bytes(touched(self.components(tensor)))

    def components(self, tensor: Tensor) -> tuple[Component, ...]:
        """The axes of `tensor` in groups that do not share dimensions, so that counts multiply."""
        return components(self.dims, self.band, tensor)

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that any kernel must move: each input and table read once, each output written once."""
        return sum(self.tensor_bytes(t) for t in self.tensors if t.role is not Role.INTERMEDIATE)
