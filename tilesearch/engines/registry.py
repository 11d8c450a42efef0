"""The engines by name; the solver engines are imported only when asked for."""

from __future__ import annotations

from importlib import import_module

from tilesearch.engines.base import Engine

_ENGINES = {
    "vector": ("tilesearch.engines.vector", "VectorEngine"),
    "cpsat": ("tilesearch.engines.cpsat", "CpSatEngine"),
    "z3": ("tilesearch.engines.z3", "Z3Engine"),
}
"""Name to module and class: the one place where an engine is registered."""


def engine(name: str) -> Engine:
    """The engine called `name`. Raises KeyError for a name that is not registered."""
    module, symbol = _ENGINES[name]
    made: Engine = getattr(import_module(module), symbol)()
    return made
