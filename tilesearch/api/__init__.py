"""The Python API: one function for each question."""

from tilesearch.api.check import check, occupancy
from tilesearch.api.design import design
from tilesearch.api.explain import explain
from tilesearch.api.export import export
from tilesearch.api.fuse import fuse
from tilesearch.api.port import port
from tilesearch.api.prune import prune
from tilesearch.api.roofline import roofline
from tilesearch.api.schedule import schedule
from tilesearch.api.shard import shard
from tilesearch.api.solve import solve
from tilesearch.api.verify import VERIFY_KINDS, verify

__all__ = [
    "VERIFY_KINDS",
    "check",
    "design",
    "explain",
    "export",
    "fuse",
    "occupancy",
    "port",
    "prune",
    "roofline",
    "schedule",
    "shard",
    "solve",
    "verify",
]
