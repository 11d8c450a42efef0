"""The ledger: what any kernel must compute and move, the roofs that bound it, and the criteria that follow.

Everything here is read from the program form; nothing asks what kind of operator it was.
"""

from tilesearch.ledger.account import Ledger, Line, ledger_of
from tilesearch.ledger.bounds import Bound, bound_of
from tilesearch.ledger.rates import Rates, rates_for

__all__ = ["Bound", "Ledger", "Line", "Rates", "bound_of", "ledger_of", "rates_for"]
