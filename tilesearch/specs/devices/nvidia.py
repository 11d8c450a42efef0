"""NVIDIA devices: the limits of a compute capability and the facts of a product."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictStr

from tilesearch.specs.devices.base import Device
from tilesearch.specs.devices.quantities import Bytes, BytesOrNone, Count, Counts, Sizes, Spec
from tilesearch.specs.validation import Fault


class TensorMemory(Spec):
    """Tensor memory of compute capability 10.x and 11.0: `lanes` x `columns` cells on each SM.

    It is allocated by columns, in one of `allocation_columns`, and so limits the resident blocks as registers
    and shared memory do.
    """

    bytes_per_sm: Bytes
    lanes: Count
    columns: Count
    cell_bits: Count
    allocation_columns: Counts


class TmaLimits(Spec):
    """Limits of the tensor memory accelerator: of a tensor map and of one copy."""

    max_rank: Count
    max_box_elements: Count
    box_inner_bytes_multiple: Bytes
    max_element_stride: Count
    global_address_alignment: Bytes
    global_stride_multiple: Bytes
    swizzle_spans: Sizes


class NvidiaDevice(Device):
    """An NVIDIA GPU. Sizes in bytes, register counts in 32-bit registers.

    `shared_per_block_optin` is the most dynamic shared memory of one block and leaves the reservation
    (`reserved_shared_per_block`) out, while `shared_per_sm` contains it. `carveout_sizes` are the sizes that
    an SM can set aside as shared memory. `barriers_per_sm` limits residency from compute capability 9.0 on
    and does not apply before; `cluster_max_size` is the portable size of a thread-block cluster.
    """

    PRODUCT_FACTS: ClassVar[tuple[str, ...]] = (*Device.PRODUCT_FACTS, "sm_count")

    vendor: Literal["nvidia"]
    compute_capability: Annotated[StrictStr, Field(pattern=r"^[0-9]{1,2}\.[0-9]$")]

    sm_count: Count
    warp_size: Count
    max_threads_per_block: Count
    max_threads_per_sm: Count
    max_blocks_per_sm: Count
    registers_per_sm: Count
    registers_per_block: Count
    max_registers_per_thread: Count
    register_allocation_unit: Count
    sub_partitions: Count
    shared_per_sm: Bytes
    shared_per_block_optin: Bytes
    shared_per_block_default: Bytes
    reserved_shared_per_block: BytesOrNone
    shared_allocation_granularity: Bytes
    carveout_sizes: Sizes
    barriers_per_sm: Count
    cluster_max_size: Count
    max_grid: Counts
    tensor_memory: TensorMemory | None = None
    tma: TmaLimits | None = None

    def _faults(self) -> Iterator[Fault]:
        yield from super()._faults()
        block, per_sm = self.shared_per_block_optin.value, self.shared_per_sm.value
        reserved = self.reserved_shared_per_block.value or 0
        if block is not None and per_sm is not None and block + reserved > per_sm:
            message = f"{block} B and the reserved {reserved} B are more than shared_per_sm, {per_sm} B"
            yield Fault(message, key="shared_per_block_optin")
        axes = self.max_grid.value
        if axes is not None and len(axes) != 3:
            yield Fault(f"three numbers are wanted (x, y, z), got {len(axes)}", key="max_grid")

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability as (major, minor), to compare."""
        major, minor = self.compute_capability.split(".")
        return int(major), int(minor)
