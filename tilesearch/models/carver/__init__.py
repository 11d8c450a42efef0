"""A replica of carver, the tile search of TileLang 0.1.15, with its faults: see docs/carver.md.

It exists to compare with: what carver would recommend, and why. Nothing else in this package uses its formulas.
"""

from __future__ import annotations

from tilesearch.models.carver.carver import PolicyName, recommended, run
from tilesearch.models.carver.device import CarverDevice, device_names, load_device
from tilesearch.models.carver.result import CarverRun, Failure, Hint, NodeHint, Row, Trial

__all__ = [
    "CarverDevice",
    "CarverRun",
    "Failure",
    "Hint",
    "NodeHint",
    "PolicyName",
    "Row",
    "Trial",
    "device_names",
    "load_device",
    "recommended",
    "run",
]
