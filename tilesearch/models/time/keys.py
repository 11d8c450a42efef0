"""How a block walks its keys: the tiles that a window leaves it, and loads that wait for the page table."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time.launch import Launch, Values
from tilesearch.program.form import Program, Role


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


def ahead(launch: Launch) -> Values:
    """Steps that loads of keys run in front: one fewer than the stages, or with pages what stages are left for keys."""
    if any(tensor.role is Role.TABLE for tensor in launch.program.tensors):
        return np.maximum(1, launch["buffers"])
    return np.maximum(1, launch["num_stages"] - 1)
