"""The one internal form of every operator, and each operator's lowering to it."""

from tilesearch.program.form import Axis, Dim, Program, Role, Tensor, Term
from tilesearch.program.lower import lower

__all__ = ["Axis", "Dim", "Program", "Role", "Tensor", "Term", "lower"]
