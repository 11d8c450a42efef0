"""Devices as carver sees them, and its tables by compute capability: data in ``devices.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.validation import fault, load_toml, validate

Positive = Annotated[StrictInt, Field(gt=0)]
Pair = tuple[Positive, Positive]
WIDEST_BITS = 64
"""Bits of the widest element."""

Transaction = Annotated[StrictInt, Field(ge=WIDEST_BITS // 8)]

_DTYPE = re.compile(r"^(?:float|bfloat|int|uint)([0-9]{1,3})(?:_[a-z0-9]+)?$")


class CarverDevice(BaseModel):
    """The constants of one device, under the names of the oracle files.

    Sizes are bytes. `smem_cap` is the most shared memory of a block, `max_smem_usage` what carver takes for an
    SM's (twice that: one of its faults), `sm_partition` both the SM's quarters and carver's most blocks an SM.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: StrictStr
    smem_cap: Positive
    max_smem_usage: Positive
    reg_cap: Positive
    sm_partition: Positive
    sms: Positive
    warp_size: Positive
    sm_version: Positive
    l2_cache_size_bytes: Positive
    transaction_size: tuple[Transaction, Transaction]
    bandwidth: Pair
    mma_shapes: Annotated[tuple[Pair, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _twice_the_cap(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("smem_cap"), int) and "max_smem_usage" not in data:
            return {**data, "max_smem_usage": 2 * data["smem_cap"]}
        return data

    @model_validator(mode="after")
    def _room_for_a_block(self) -> CarverDevice:
        if self.max_smem_usage < self.smem_cap:
            raise fault("must be at least smem_cap", key="max_smem_usage")
        return self

    @property
    def write_bytes(self) -> int:
        """Bytes of a write transaction."""
        return self.transaction_size[0]

    @property
    def read_bytes(self) -> int:
        """Bytes of a read transaction."""
        return self.transaction_size[1]


@cache
def _tables() -> dict[str, Any]:
    return load_toml(Path(__file__).with_name("devices.toml"))


def device_names() -> list[str]:
    """The names of the devices that are shipped."""
    return list(_tables()["devices"])


def load_device(name: str) -> CarverDevice:
    """The device called `name`. Raises `InputError` with the nearest name when there is none."""
    devices = _tables()["devices"]
    if name not in devices:
        raise InputError(Issue(f"carver has no device {name!r}", "device", hint=suggest(name, list(devices))))
    return validate(CarverDevice, {"name": name, **_tables()["defaults"], **devices[name]})


def multiplies(device: CarverDevice, in_dtype: str, acc_dtype: str) -> bool:
    """Whether carver's table for the device lists a tensor core product of these types.

    A compute capability without a table makes carver raise inside and fall back: no product at all.
    """
    return any(
        row["sm"][0] <= device.sm_version <= row["sm"][1] and [in_dtype, acc_dtype] in row["pairs"]
        for row in _tables()["tensor_core"]
    )


def pipeline_stages(device: CarverDevice) -> int:
    """Stages that carver plans for a single function: two on a short list of parts, one on all others."""
    return 2 if device.sm_version in _tables()["pipeline"]["two_stages"] else 1


def rasterizes(device: CarverDevice) -> bool:
    """Whether carver considers a rasterisation on this device at all."""
    return bool(device.sm_version >= _tables()["pipeline"]["rasterization_from"])


@cache
def bits_of(dtype: str) -> int:
    """Bits of an element, from the type's name in TVM's spelling. Raises `InputError` for other spellings."""
    match = _DTYPE.match(dtype)
    if match is None or not 0 < int(match[1]) <= WIDEST_BITS:
        hint = "float16, bfloat16, float32, float8_e4m3, int8, int32, …"
        raise InputError(Issue(f"unknown data type {dtype!r}", "dtype", hint=hint))
    return int(match[1])


def bytes_of(dtype: str) -> int:
    """Bytes of an element, rounded up."""
    return -(-bits_of(dtype) // 8)
