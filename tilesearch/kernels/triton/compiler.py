"""What a version of the Triton compiler does, read from triton.toml."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tilesearch.kernels.base import Context, language_data
from tilesearch.kernels.versions import Version, since, variant_of, version_of
from tilesearch.rules.compiled import register_cap
from tilesearch.rules.expr import Expr, minimum
from tilesearch.rules.limits import number
from tilesearch.rules.model import constant
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.dtypes import DType
from tilesearch.specs.instructions import Instruction, instructions_for


@dataclass(frozen=True)
class Compiler:
    """One version of Triton aiming at one device."""

    version: Version
    device: NvidiaDevice
    data: dict[str, Any] = field(repr=False)
    maxnreg: int | None = None

    @property
    def source(self) -> str:
        """Whose behaviour the rules state."""
        return f"Triton {'.'.join(map(str, self.version))}"

    @cached_property
    def pipeline(self) -> dict[str, Any]:
        """How the loop is pipelined: see triton.toml."""
        return since(self.data["pipeline"], self.version)

    @property
    def newest_target(self) -> str:
        """The newest compute capability that the version compiles for."""
        return str(since(self.data["targets"], self.version)["newest"])

    @property
    def has_target(self) -> bool:
        """Whether the version compiles for the device at all."""
        return _capability(self.device) <= _parsed(self.newest_target)

    def number(self, name: str) -> int:
        """A plain number of the language."""
        return int(self.data[name]["value"])

    @property
    def overhead(self) -> int:
        """Registers that a thread keeps beside its accumulators, whatever else the kernel does."""
        return int(self.data["registers"]["overhead"]["value"])

    def spare_buffers(self, bits: int) -> int:
        """Buffers fewer than num_stages that an operand of `bits` keeps on the mma path."""
        return int(self.pipeline["spare_mma_8bit" if bits <= 8 else "spare_mma"])

    def minimum_dot(self, operand: DType) -> dict[str, Any]:
        """The least m, n and k of tl.dot for operands of that type, with the source."""
        rows = [r for r in self.data["minimum_dot"] if r.get("dtype", operand.name) == operand.name]
        row = since(rows, self.version)
        return {"m": row["m"], "n": row["n"], "k": row.get(f"k{operand.bits}", row["k"]), "source": row["source"]}

    @property
    def async_copies(self) -> bool:
        """Whether the device copies to shared memory without registers."""
        return _capability(self.device) >= _parsed(self.data["async_copy_from"]["value"])

    def register_cap(self, threads: Expr) -> Expr:
        """Registers that a thread may have: what a block of `threads` leaves it, or what the caller allows."""
        cap = register_cap(self.device, threads)
        return cap if self.maxnreg is None else minimum(cap, constant("maxnreg", self.maxnreg))

    @property
    def lanes(self) -> int:
        """Threads of a warp."""
        return number(self.device, "warp_size")

    @property
    def fragment_rows(self) -> int:
        """Rows of the accumulator that one warp holds of one instruction."""
        return int(self.data["fragment"]["rows"])

    @property
    def has_stmatrix(self) -> bool:
        """Whether a warp stores matrices of 16-bit elements to shared memory at once."""
        return _capability(self.device) >= _parsed(self.data["stmatrix_from"]["value"])

    @property
    def has_tma(self) -> bool:
        """Whether the device has a tensor memory accelerator."""
        return self.device.tma is not None

    def instructions(self, a: DType, b: DType, acc: DType) -> dict[str, Instruction]:
        """The matrix instructions that the compiler has a path for, by family. fp32 is multiplied as tf32."""
        path = since(self.data["tensor_path"], self.version)
        left, right = (("tf32" if t.name == "fp32" else t.name) for t in (a, b))
        found: dict[str, Instruction] = {}
        for item in instructions_for(self.device, left, acc.name, right):
            if self.device.compute_capability in path.get(item.family, ()) and not item.slow and not item.scale:
                found.setdefault(item.family, item)
        return found


def _parsed(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split("."))


def _capability(device: NvidiaDevice) -> tuple[int, ...]:
    return _parsed(device.compute_capability)


def compiler_of(context: Context, device: NvidiaDevice) -> Compiler:
    """The compiler that the problem asks for. Raises `InputError` for an unknown version."""
    data = language_data("triton")
    return Compiler(version_of(context.kernel, data["versions"], context.source), device, data, context.kernel.maxnreg)


def kernel_variant(context: Context, kind: str, version: Version) -> str:
    """How the kernel is written. Raises `InputError` for a variant that this operator or version does not have."""
    data = language_data("triton")
    return variant_of(context.kernel, data["variants"][kind], context.source, data, version)
