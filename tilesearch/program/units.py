"""What the lowerings share: the units that execute terms by default, and axes indexed by one dimension each."""

from __future__ import annotations

from tilesearch.program.form import Axis, Dim, Split
from tilesearch.specs.dtypes import DType, dtype

SPECIAL = "sfu.fp32"
"""The unit of special functions: exponentials, reciprocal roots, sines."""

_SIMT_TYPES = ("fp32", "fp64", "int32")


def matrix_unit(name: str) -> str:
    """The roof on which a product of `name` operands runs by default.

    fp32 and int32 have no matrix instruction; fp64 has one only on some parts, so its users declare it.
    """
    unit = "cuda_core" if name in _SIMT_TYPES else "tensor_core"
    return f"{unit}.{dtype(name).roof_name}"


def scalar_unit(accumulator: str) -> str:
    """The roof of arithmetic outside matrix instructions: in the accumulator's type, fp32 for narrower floats."""
    kind = dtype(accumulator)
    return f"cuda_core.{'int32' if not kind.is_float else 'fp64' if kind.name == 'fp64' else 'fp32'}"


def plain(*dims: Dim) -> tuple[Axis, ...]:
    """Axes that are each indexed by one dimension."""
    return tuple(Axis(d.extent, ((d.name, 1),)) for d in dims)


def indexed(extents: dict[str, int]) -> tuple[Axis, ...]:
    """Axes that are each indexed by one dimension, or part of one, given by name and extent."""
    return tuple(Axis(extent, ((name, 1),)) for name, extent in extents.items())


def split_over(dim: str, acc: DType, statistics: int = 0) -> Split:
    """A split of `dim` by split_k, with partials in fp32 or, for wider and integer sums, the accumulator's type."""
    partial = dtype("fp32") if acc.is_float and acc.bits <= 32 else acc
    return Split("split_k", dim, partial, statistics)
