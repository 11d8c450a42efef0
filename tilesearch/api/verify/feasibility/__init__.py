"""Replay of compiler and launch verdicts: what the rules say of each build against what really happened."""

from tilesearch.api.verify.feasibility.compare import verify_feasibility

__all__ = ["verify_feasibility"]
