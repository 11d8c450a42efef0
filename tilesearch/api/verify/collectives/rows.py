"""Reading measured collectives: one run on the devices of one host, as an object with two lists of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tilesearch.api.shard import MOST_CHUNKS
from tilesearch.api.sharding import Split
from tilesearch.api.verify.replay import read_rows
from tilesearch.errors import InputError, Issue
from tilesearch.models.time.link_fit import Call
from tilesearch.specs.devices import CollectiveOp, Device, load_device
from tilesearch.specs.ops import MAX_EXTENT, Gemm
from tilesearch.specs.validation import Fault, faults, load_json, shown

Time = Annotated[float, Field(gt=0, le=1e12)]
Extent = Annotated[int, Field(ge=1, le=MAX_EXTENT)]
Bytes = Annotated[int, Field(ge=1, le=2**50)]

_COLLECTIVE = {"row": "all_reduce", "column": "all_gather"}


class _CallRow(BaseModel):
    """A collective by itself: bytes of the input tensor that a rank holds, us."""

    model_config = ConfigDict(extra="ignore")

    op: CollectiveOp
    bytes: Bytes
    single_us: Time
    back_to_back_us: Time


class _ProductRow(BaseModel):
    """A tensor-parallel product, us; ``overlapN_us`` in N chunks of rows."""

    model_config = ConfigDict(extra="allow")

    MNK: tuple[Extent, Extent, Extent]
    kind: Annotated[str, Field(pattern=r"^(row|column)_parallel")]
    gemm_us: Time
    sequential_us: Time

    @model_validator(mode="after")
    def _judgeable(self) -> Self:
        wrong = [Fault(f"{what}, got {shown(value)}", key=name) for name, value, what in self._wrong()]
        if wrong:
            raise faults(wrong)
        return self

    def _wrong(self) -> Iterator[tuple[str, Any, str]]:
        for name, count, value in self._chunked():
            if not 2 <= count <= MOST_CHUNKS:
                yield name, count, f"2 to {MOST_CHUNKS} chunks are wanted"
            elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e12:
                yield name, value, "a time in us is wanted"

    def _chunked(self) -> Iterator[tuple[str, int, Any]]:
        for name, value in (self.model_extra or {}).items():
            found = re.fullmatch(r"overlap(\d+)_us", name)
            if found:
                yield name, int(found[1]), value

    @property
    def chunked_us(self) -> dict[int, float]:
        """Times in so many chunks."""
        return {count: float(value) for _, count, value in self._chunked()}


@dataclass(frozen=True)
class Product:
    """A measured tensor-parallel product in fp16: alone, in sequence and in chunks, us."""

    op: Gemm
    split: Split
    gemm_us: float
    sequential_us: float
    chunked_us: Mapping[int, float]

    @property
    def name(self) -> str:
        """Split and extents."""
        return f"{self.split} {self.op.m}x{self.op.n}x{self.op.k}"

    @property
    def collective(self) -> str:
        """What the split needs."""
        return _COLLECTIVE[self.split]


@dataclass(frozen=True)
class Run:
    """One file."""

    device: Device
    ranks: int
    calls: tuple[Call, ...]
    products: tuple[Product, ...]
    copies: int
    """Copies from device to device in the file: no collective, so not judged."""


def read_run(path: Path) -> Run:
    """The measurements of a file. Raises `InputError` for one that does not hold them."""
    data = load_json(path)
    name, ranks = (data.get("device"), data.get("gpus")) if isinstance(data, Mapping) else (None, None)
    copies = data.get("p2p_copy") or [] if isinstance(data, Mapping) else None
    if not isinstance(name, str) or not isinstance(ranks, int) or ranks < 2 or not isinstance(copies, list):
        hint = "an object with device, gpus, collectives and tp_gemm is wanted"
        raise InputError(Issue("these are no measured collectives", source=str(path), hint=hint))
    calls = [row for _, row in read_rows([path], _CallRow, "collectives")]
    products = [row for _, row in read_rows([path], _ProductRow, "tp_gemm")] if data.get("tp_gemm") else []
    return Run(
        _device(name, path),
        ranks,
        tuple(Call(r.op, r.bytes, r.single_us, r.back_to_back_us) for r in calls),
        tuple(_product(row) for row in products),
        len(copies),
    )


def _device(name: str, path: Path) -> Device:
    try:
        return load_device(name)
    except InputError as error:
        raise InputError([replace(issue, where="device", source=str(path)) for issue in error.issues]) from None


def _product(row: _ProductRow) -> Product:
    m, n, k = row.MNK
    split: Split = "row" if row.kind.startswith("row") else "column"
    return Product(Gemm(m=m, n=n, k=k, dtype="fp16"), split, row.gemm_us, row.sequential_us, row.chunked_us)
