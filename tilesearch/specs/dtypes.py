"""Data types: their names, their width, and the name under which a roof is declared for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilesearch.errors import InputError, Issue, suggest


@dataclass(frozen=True)
class DType:
    """A data type of a tensor, an accumulator or a matrix instruction.

    `bits` is the width in memory: tf32 is computed with 19 bits but stored in 32, and fp6 is 6 bits when
    packed. `roof_name` is the part of a roof's name after the dot (``tensor_core.fp8`` serves both fp8
    formats).
    """

    name: str
    bits: int
    kind: Literal["float", "int"]
    roof_name: str

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def bytes(self) -> float:
        """Bytes per element; a fraction below 8 bits. Exact code counts in `bits`."""
        return self.bits / 8

    def storage_bytes(self, elements: int) -> int:
        """Bytes that `elements` packed elements occupy, rounded up to whole bytes."""
        return -(-elements * self.bits // 8)

    def __str__(self) -> str:
        return self.name


_TYPES = (
    DType("fp64", 64, "float", "fp64"),
    DType("fp32", 32, "float", "fp32"),
    DType("tf32", 32, "float", "tf32"),
    DType("fp16", 16, "float", "fp16"),
    DType("bf16", 16, "float", "bf16"),
    DType("fp8_e4m3", 8, "float", "fp8"),
    DType("fp8_e5m2", 8, "float", "fp8"),
    DType("fp8_e8m0", 8, "float", "fp8"),  # powers of two: block scales only
    DType("fp6", 6, "float", "fp6"),
    DType("fp4_e2m1", 4, "float", "fp4"),
    DType("int8", 8, "int", "int8"),
    DType("int4", 4, "int", "int4"),
    DType("int32", 32, "int", "int32"),
    DType("int1", 1, "int", "int1"),
)

DTYPES: dict[str, DType] = {t.name: t for t in _TYPES}
"""Every data type by its name."""

ROOF_DTYPES: tuple[str, ...] = tuple(dict.fromkeys(t.roof_name for t in _TYPES))
"""The names that may follow the dot in the name of a roof."""

# Spellings of PyTorch, NumPy, JAX, Triton, PTX and TileLang, in the form that `_plain` gives them.
_ALIASES = {
    "fp64": "float64 double f64",
    "fp32": "float32 float single f32",
    "tf32": "tfloat32 tensorfloat32",
    "fp16": "float16 half f16",
    "bf16": "bfloat16",
    "fp8_e4m3": "fp8 f8 e4m3 e4m3fn e4m3fnuz f8e4m3fn fp8e4m3fn fp8e4nv fp8e4b8 float8e4m3 float8e4m3fn float8e4m3fnuz",
    "fp8_e5m2": "e5m2 e5m2fnuz float8e5m2 float8e5m2fnuz fp8e5 fp8e5b16 f8e5m2",
    "fp8_e8m0": "e8m0 ue8m0 e8m0fnu fp8e8m0 fp8e8m0fnu float8e8m0fnu",
    "fp6": "e2m3 e3m2 fp6e2m3 fp6e3m2 float6e2m3fn float6e3m2fn f6",
    "fp4_e2m1": "fp4 f4 e2m1 e2m1fn fp4e2m1fn float4 float4e2m1 float4e2m1fn float4e2m1fnx2 nvfp4 mxfp4",
    "int8": "i8 s8 char u8 uint8",
    "int4": "i4 s4 u4 uint4",
    "int32": "i32 s32 int",
    "int1": "b1 bit binary i1 u1 bool1",
}


def _plain(name: str) -> str:
    """Reduce a spelling: no prefix such as ``torch.``, no case, no ``_``, ``-`` or space."""
    return name.rsplit(".", 1)[-1].lower().replace("_", "").replace("-", "").replace(" ", "")


_BY_SPELLING: dict[str, DType] = {_plain(t.name): t for t in _TYPES}
_BY_SPELLING.update({alias: DTYPES[name] for name, aliases in _ALIASES.items() for alias in aliases.split()})


def dtype(name: str | DType) -> DType:
    """The data type called `name`, in this or another common spelling (``torch.float16``, ``half``).

    An unsigned integer of the same width is the same type here, since nothing that is computed depends on the
    sign. A bare ``fp8`` means the e4m3 format. Raises `InputError` with the nearest name.
    """
    if isinstance(name, DType):
        return name
    found = _BY_SPELLING.get(_plain(name)) if isinstance(name, str) else None
    if found is None:
        raise InputError(Issue(f"unknown data type {name!r}", hint=_nearest(str(name))))
    return found


def _nearest(name: str) -> str:
    """The nearest canonical name: by this package's names first, then by the other spellings."""
    hint = suggest(name, list(DTYPES))
    if hint.startswith("allowed"):
        other = suggest(_plain(name), list(_BY_SPELLING))
        if not other.startswith("allowed"):
            return f"did you mean {_BY_SPELLING[other.split(chr(39))[1]].name!r}?"
    return hint
