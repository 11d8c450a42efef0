"""The program form: named dimensions, tensors indexed by them, and arithmetic terms.

Everything that the project knows of an operator is derived from this form: the ledger (flops, bytes), a
tile's footprint, its traffic and its grid. Nothing downstream asks what kind of operator it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilesearch.specs.dtypes import DType


class Role(StrEnum):
    """What a tensor is to the operator."""

    INPUT = "input"  # read from memory; a tile of it is staged on chip
    OUTPUT = "output"  # written to memory once
    TABLE = "table"  # a look-up table: read by every block that covers any of its indices
    INTERMEDIATE = "intermediate"  # lives on chip only


@dataclass(frozen=True)
class Dim:
    """A loop dimension. `variable` is the decision variable that tiles it, None when a block takes one index.

    A `reduce` dimension is summed over: blocks do not partition it unless a split variable says so. `whole`
    means that a block always covers the full extent (a head dimension, say).
    """

    name: str
    extent: int
    variable: str | None = None
    reduce: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor: its size and its index, ``sum of coefficient * dim + offset``.

    An index that falls outside ``[0, extent)`` reads padding, which costs no memory traffic.
    """

    extent: int
    terms: tuple[tuple[str, int], ...]
    offset: int = 0


@dataclass(frozen=True)
class Tensor:
    """A tensor in memory: its dtype, role, axes in memory order (last is contiguous).

    `staged` tensors occupy shared memory while a block works on them, once for each pipeline stage when they
    are indexed by a looped reduction; others go straight to registers.
    """

    name: str
    role: Role
    dtype: DType
    axes: tuple[Axis, ...]
    staged: bool = False

    @property
    def dims(self) -> frozenset[str]:
        """Names of the dimensions that index the tensor."""
        return frozenset(name for axis in self.axes for name, _ in axis.terms)

    @property
    def elements(self) -> int:
        """Number of elements."""
        count = 1
        for axis in self.axes:
            count *= axis.extent
        return count


@dataclass(frozen=True)
class Term:
    """A line of arithmetic: `per_point` operations at each point of `dims`, done by `unit`.

    A multiply-add is two operations. `unit` is a roof's name such as ``tensor_core.fp16``.
    """

    name: str
    unit: str
    per_point: int
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """How a reduction may be cut across blocks: `variable` parts of `dim`, each leaving partial outputs.

    Partials of `partial` dtype are written by the parts and read once by the kernel that adds them up.
    """

    variable: str
    dim: str
    partial: DType


@dataclass(frozen=True)
class Contraction:
    """The matrix product at the heart of an operator, for the rules on instruction shapes.

    `m`, `n` and `k` are names of dimensions; `a` and `b` of tensors.
    """

    m: str
    n: str
    k: str
    a: str
    b: str
    acc: DType


@dataclass(frozen=True)
class Program:
    """An operator in the one internal form."""

    kind: str
    dims: tuple[Dim, ...]
    tensors: tuple[Tensor, ...]
    terms: tuple[Term, ...]
    roof: str
    contraction: Contraction | None = None
    split: Split | None = None
    constants: Mapping[str, int] = field(default_factory=dict)

    def dim(self, name: str) -> Dim:
        """The dimension of that name."""
        return next(d for d in self.dims if d.name == name)

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return next(t for t in self.tensors if t.name == name)

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
        """Operations of one term: `per_point` times the product of its dimensions."""
        count = term.per_point
        for name in term.dims:
            count *= self.dim(name).extent
        return count

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that any kernel must move: each input and table read once, each output written once."""
        return sum(t.dtype.storage_bytes(t.elements) for t in self.tensors if t.role is not Role.INTERMEDIATE)
