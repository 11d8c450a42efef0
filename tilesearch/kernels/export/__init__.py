"""A tile as another program's text: code in Triton or TileLang, launch parameters for CUTLASS or anything else."""

from tilesearch.kernels.export.registry import TARGETS, Exported, export

__all__ = ["TARGETS", "Exported", "export"]
