"""Devices: limits and rates as data, with sources, and the files that hold them.

>>> load_device("H200").name
'h200'
"""

from tilesearch.specs.devices.amd import AmdDevice
from tilesearch.specs.devices.ascend import AscendDevice
from tilesearch.specs.devices.base import Device
from tilesearch.specs.devices.files import VENDORS, list_devices, load_device, read_device
from tilesearch.specs.devices.links import CollectiveOp, Link, Protocol
from tilesearch.specs.devices.nvidia import NvidiaDevice, TensorMemory, TmaLimits
from tilesearch.specs.devices.policies import BUILT_IN_POLICIES, Effective
from tilesearch.specs.devices.quantities import Quantities, Quantity
from tilesearch.specs.devices.roofs import Bandwidth, Calibration, Mix, Roof
from tilesearch.specs.devices.times import TimeConstant, TimeError

__all__ = [
    "BUILT_IN_POLICIES",
    "VENDORS",
    "AmdDevice",
    "AscendDevice",
    "Bandwidth",
    "Calibration",
    "CollectiveOp",
    "Device",
    "Effective",
    "Link",
    "Mix",
    "NvidiaDevice",
    "Protocol",
    "Quantities",
    "Quantity",
    "Roof",
    "TensorMemory",
    "TimeConstant",
    "TimeError",
    "TmaLimits",
    "list_devices",
    "load_device",
    "read_device",
]
