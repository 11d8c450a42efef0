"""The one internal form of every operator, and each operator's lowering to it."""

from tilesearch.program.form import (
    Axis,
    Band,
    Component,
    Contraction,
    Dim,
    Held,
    Program,
    Role,
    Split,
    Tensor,
    Term,
    flattened,
)
from tilesearch.program.lower import lower

__all__ = [
    "Axis",
    "Band",
    "Component",
    "Contraction",
    "Dim",
    "Held",
    "Program",
    "Role",
    "Split",
    "Tensor",
    "Term",
    "flattened",
    "lower",
]
