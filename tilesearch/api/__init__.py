"""The Python API: one function for each question."""

from tilesearch.api.check import check, occupancy
from tilesearch.api.explain import explain
from tilesearch.api.solve import solve

__all__ = ["check", "explain", "occupancy", "solve"]
