"""Reading measured collectives: one run on the devices of one host, as an object with two lists of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tilesearch.api.sharding import Split
from tilesearch.api.verify.replay import read_rows
from tilesearch.errors import InputError, Issue
from tilesearch.models.time.link_fit import Call
from tilesearch.specs.devices import CollectiveOp, Device, load_device
from tilesearch.specs.ops import Gemm
from tilesearch.specs.validation import load_json

Time = Annotated[float, Field(gt=0)]
Extent = Annotated[int, Field(ge=1)]

_COLLECTIVE = {"row": "all_reduce", "column": "all_gather"}


class _CallRow(BaseModel):
    """A collective by itself: bytes of the input tensor that a rank holds, us."""

    model_config = ConfigDict(extra="ignore")

    op: CollectiveOp
    bytes: Extent
    single_us: Time
    back_to_back_us: Time


class _ProductRow(BaseModel):
    """A tensor-parallel product, us; ``overlapN_us`` in N chunks of rows."""

    model_config = ConfigDict(extra="allow")

    MNK: tuple[Extent, Extent, Extent]
    kind: Annotated[str, Field(pattern=r"^(row|column)_parallel")]
    gemm_us: Time
    sequential_us: Time


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
    if not isinstance(name, str) or not isinstance(ranks, int) or ranks < 2:
        hint = "an object with device, gpus, collectives and tp_gemm is wanted"
        raise InputError(Issue("these are no measured collectives", source=str(path), hint=hint))
    calls = [row for _, row in read_rows([path], _CallRow, "collectives")]
    products = [row for _, row in read_rows([path], _ProductRow, "tp_gemm")] if data.get("tp_gemm") else []
    return Run(
        load_device(name),
        ranks,
        tuple(Call(r.op, r.bytes, r.single_us, r.back_to_back_us) for r in calls),
        tuple(_product(row) for row in products),
        len(data.get("p2p_copy") or []),
    )


def _product(row: _ProductRow) -> Product:
    m, n, k = row.MNK
    chunked: dict[int, float] = {}
    for name, value in (row.model_extra or {}).items():
        found = re.fullmatch(r"overlap(\d+)_us", name)
        if found and isinstance(value, int | float) and value > 0:
            chunked[int(found[1])] = float(value)
    split: Split = "row" if row.kind.startswith("row") else "column"
    return Product(Gemm(m=m, n=n, k=k, dtype="fp16"), split, row.gemm_us, row.sequential_us, chunked)
