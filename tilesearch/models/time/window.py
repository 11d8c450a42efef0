"""A sliding window over the keys: the tiles of keys that a block of rows meets."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time.launch import Values
from tilesearch.program.form import Program


def is_window(program: Program) -> bool:
    """Whether the mask also hides keys that lie too far back, as a causal one alone does not."""
    band = program.band
    return band is not None and band.low > 1 - program.extent(band.row)


def edges(program: Program) -> int:
    """Edges of the mask that a row of tiles runs along: at the row's own key, and at the far end of a window."""
    return 2 if is_window(program) else 1


def most_steps(program: Program, rows: Values, keys: Values) -> Values:
    """Tiles of `keys` keys that a tile of `rows` rows can meet, wherever they begin; infinite without a window."""
    band = program.band
    if band is None or not is_window(program):
        return np.full_like(rows, np.inf)
    return np.ceil((band.high - band.low + rows) / keys) + 1
