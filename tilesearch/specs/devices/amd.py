"""AMD devices of the CDNA architectures."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import StrictStr

from tilesearch.specs.devices.base import Device
from tilesearch.specs.devices.quantities import Bytes, Count, Quantity


class AmdDevice(Device):
    """An AMD Instinct GPU, by AMD's terms: compute units, local data share (LDS), vector registers (VGPRs).

    Sizes in bytes. `lds_per_block` is the most LDS of one work-group. The L2 is not shared between the `dies`:
    `l2_bytes` is the sum, and a work-group sees the slice of its own die. The roofs keep the names
    ``tensor_core`` (matrix cores) and ``cuda_core`` (vector units), so that an operator's roof is the same on
    every device.
    """

    PRODUCT_FACTS: ClassVar[tuple[str, ...]] = (*Device.PRODUCT_FACTS, "cu_count", "dies", "l3_bytes")

    vendor: Literal["amd"]
    gfx_target: StrictStr

    cu_count: Count
    dies: Count
    warp_size: Count
    simds_per_cu: Count
    max_threads_per_block: Count
    max_threads_per_cu: Count
    max_waves_per_cu: Count
    max_registers_per_thread: Count
    register_file_per_cu: Bytes
    register_allocation_unit: Count
    lds_per_cu: Bytes
    lds_per_block: Bytes
    lds_banks: Count
    l3_bytes: Bytes

    # The names of the other vendor for the same things, for rules that hold for both.

    @property
    def sm_count(self) -> Quantity:
        """The compute units."""
        return self.cu_count

    @property
    def max_threads_per_sm(self) -> Quantity:
        """The threads that one compute unit can hold."""
        return self.max_threads_per_cu

    @property
    def shared_per_sm(self) -> Quantity:
        """The LDS of one compute unit."""
        return self.lds_per_cu

    @property
    def shared_per_block_optin(self) -> Quantity:
        """The most LDS of one work-group."""
        return self.lds_per_block
