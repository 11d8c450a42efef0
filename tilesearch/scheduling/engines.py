"""The engines by name; solvers are imported only when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.scheduling.probe import Budget, Engine, Question, Reply

_ENGINES = {
    "search": ("tilesearch.scheduling.search", "SearchEngine"),
    "cpsat": ("tilesearch.scheduling.cpsat", "CpSatEngine"),
    "z3": ("tilesearch.scheduling.z3", "Z3Engine"),
}
_CHAINS = {"auto": ("search", "cpsat")}


class _Lazy:
    """An engine that is imported at its first question."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._engine: Engine | None = None

    def ask(self, question: Question, budget: Budget) -> Reply:
        """As the engine itself."""
        if self._engine is None:
            module, symbol = _ENGINES[self.name]
            self._engine = getattr(import_module(module), symbol)()
        return self._engine.ask(question, budget)


def engines_named(name: str) -> Sequence[Engine]:
    """The engines to ask in turn. Raises `InputError` for a name that is not known."""
    names = _CHAINS.get(name, (name,))
    if not all(n in _ENGINES for n in names):
        allowed = ["auto", *_ENGINES]
        raise InputError(Issue(f"unknown engine {name!r}", "engine", hint=suggest(name, allowed)))
    return [_Lazy(n) for n in names]
