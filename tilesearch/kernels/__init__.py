"""Kernel languages: their knobs, and how each uses shared memory, registers and instructions."""

from tilesearch.kernels.base import Context
from tilesearch.kernels.registry import LANGUAGES, build_model

__all__ = ["LANGUAGES", "Context", "build_model"]
