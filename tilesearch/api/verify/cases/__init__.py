"""Replay of public reports: what a tool told a person about a tile, against what the rules say of it."""

from tilesearch.api.verify.cases.compare import verify_cases

__all__ = ["verify_cases"]
