"""The latency model of an Ascend AI core: what a statement, a leaf task and a composition of them cost in cycles.

>>> from tilesearch.specs.devices import load_device
>>> LatencyModel(load_device("ascend950")).cube("bf16", 256, 224, 128)
TaskCost(latency=1800, interval=1792, pipes=frozenset({'M'}), ports=frozenset())
"""

from tilesearch.models.ascend.composition import Phase, branch, loop, per_core, sequence
from tilesearch.models.ascend.geometry import Side, row_width
from tilesearch.models.ascend.model import LatencyModel, TaskCost
from tilesearch.models.ascend.nest import Loop, Node, count

__all__ = [
    "LatencyModel",
    "Loop",
    "Node",
    "Phase",
    "Side",
    "TaskCost",
    "branch",
    "count",
    "loop",
    "per_core",
    "row_width",
    "sequence",
]
