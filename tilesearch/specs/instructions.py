"""The matrix instructions of each device, as data: which shapes exist for which types.

The data are ``hardware/instructions/*.toml``, one file a family: mma (a warp), wgmma (a warpgroup), tcgen05
(one thread, accumulating in tensor memory) and AMD's mfma (a wavefront).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator

from tilesearch.specs.data import data_dir
from tilesearch.specs.devices import AmdDevice, Device, NvidiaDevice
from tilesearch.specs.devices.quantities import Spec
from tilesearch.specs.devices.roofs import DTypeName
from tilesearch.specs.dtypes import DType, dtype
from tilesearch.specs.validation import fault, load_toml, validate

Family = Literal["mma", "wgmma", "tcgen05", "mfma"]
Storage = Literal["shared", "registers", "tensor memory"]

FAMILIES: tuple[Family, ...] = ("tcgen05", "wgmma", "mma", "mfma")
"""The families, the one that reaches the higher rate first."""

Size = Annotated[StrictInt, Field(gt=0)]


@dataclass(frozen=True)
class Instruction:
    """A matrix instruction of `m` x N x `k` elements, N being any of `n_values`, issued by `threads` threads.

    `kind` is the PTX kind where a family has several. `cta_group` 2 means that two blocks share the instruction
    and `m` is their joint extent. `scale` describes the block scales that the instruction applies; without one it
    multiplies plain operands. `slow` says that the instruction exists but does not run at the rate of the
    matrix units.
    """

    family: Family
    a: str
    b: str
    acc: str
    m: int
    n_values: tuple[int, ...]
    k: int
    threads: int
    accumulator: Storage
    a_from: tuple[Storage, ...]
    kind: str = ""
    cta_group: int = 1
    weight_stationary: bool = False
    scale: str = ""
    slow: bool = False
    source: str = ""
    note: str = ""

    def accumulator_registers_per_thread(self, n: int) -> int:
        """The 32-bit registers that one thread holds of an m x n accumulator; 0 if it is in tensor memory."""
        if self.accumulator != "registers":
            return 0
        return -(-self.m * n * dtype(self.acc).bits // (32 * self.threads))


class _Row(Spec):
    a: tuple[DTypeName, ...]
    b: tuple[DTypeName, ...] | None = None  # None: the same type as a
    acc: DTypeName
    m: tuple[Size, ...]
    n: StrictStr
    k: Size
    targets: StrictStr
    kind: StrictStr = ""
    cta_group: Literal[1, 2] = 1
    weight_stationary: bool = False
    scale: StrictStr = ""
    slow: bool = False
    note: StrictStr = ""

    def takes(self, a: str, b: str, acc: str) -> bool:
        return a in self.a and (b == a if self.b is None else b in self.b) and acc == self.acc


class _File(Spec):
    family: Family
    threads: Size
    accumulator: Storage
    a_from: tuple[Storage, ...]
    source: StrictStr
    instructions: tuple[_Row, ...]
    targets: dict[str, tuple[StrictStr, ...]]
    n_values: dict[str, tuple[Size, ...]]

    def architectures(self, row: _Row) -> set[str]:
        return {_architecture_of_target(target) for target in self.targets[row.targets]}

    @model_validator(mode="after")
    def _names_exist(self) -> _File:
        for number, row in enumerate(self.instructions):
            if row.targets not in self.targets:
                raise fault(f"no targets called {row.targets!r}", key=f"instructions[{number}].targets")
            if row.n not in self.n_values:
                raise fault(f"no n_values called {row.n!r}", key=f"instructions[{number}].n")
        return self


@cache
def _files() -> tuple[_File, ...]:
    folder = data_dir("hardware") / "instructions"
    return tuple(
        validate(_File, load_toml(folder / f"{family}.toml"), source=f"hardware/instructions/{family}.toml")
        for family in FAMILIES
    )


# A letter at the end marks a target whose code runs on no other architecture.
_TARGET = re.compile(r"sm_(?P<major>[0-9]+)(?P<minor>[0-9])[af]?")


def _architecture_of_target(target: str) -> str:
    """The compute capability of a compiler target (``sm_90a``: ``9.0``), or AMD's own name for one."""
    match = _TARGET.fullmatch(target)
    return f"{match['major']}.{match['minor']}" if match else target


def architecture_of(device: Device) -> str | None:
    """By what the instructions of `device` are listed: its compute capability or gfx target; None if neither."""
    if isinstance(device, NvidiaDevice):
        return device.compute_capability
    if isinstance(device, AmdDevice):
        return device.gfx_target
    return None


def instructions_for(
    device: Device, a_dtype: str | DType, acc_dtype: str | DType, b_dtype: str | DType | None = None
) -> list[Instruction]:
    """The instructions of `device` for inputs a and b and an accumulator; b is as a unless it is given.

    Best first: those that run at the rate of the matrix units before the slow ones, then by family as in
    `FAMILIES`, then the larger K, M and the longer list of N. Empty if there is none. Raises `InputError`
    for an unknown data type.
    """
    a, acc = dtype(a_dtype).name, dtype(acc_dtype).name
    b = a if b_dtype is None else dtype(b_dtype).name
    architecture = architecture_of(device)
    if architecture is None:
        return []
    return list(_instructions(architecture, a, b, acc, device.supports(a) and device.supports(b)))


@cache
def _instructions(architecture: str, a: str, b: str, acc: str, supported: bool) -> tuple[Instruction, ...]:
    found = [
        Instruction(
            family=file.family,
            a=a,
            b=b,
            acc=acc,
            m=m,
            n_values=file.n_values[row.n],
            k=row.k,
            threads=file.threads,
            accumulator=file.accumulator,
            a_from=file.a_from,
            kind=row.kind,
            cta_group=row.cta_group,
            weight_stationary=row.weight_stationary,
            scale=row.scale,
            slow=row.slow or not supported,
            source=file.source,
            note=row.note,
        )
        for file in _files()
        for row in file.instructions
        if row.takes(a, b, acc) and architecture in file.architectures(row)
        for m in row.m
    ]
    return tuple(sorted(found, key=_preference))


def _preference(instruction: Instruction) -> tuple[bool, int, bool, int, int, int, int]:
    return (
        instruction.slow,
        FAMILIES.index(instruction.family),
        instruction.weight_stationary,
        instruction.cta_group,
        -instruction.k,
        -instruction.m,
        -len(instruction.n_values),
    )


def families_of(device: Device) -> list[Family]:
    """The instruction families that `device` has for any types, in the order of `FAMILIES`."""
    architecture = architecture_of(device)
    return [
        file.family for file in _files() if any(architecture in file.architectures(row) for row in file.instructions)
    ]
