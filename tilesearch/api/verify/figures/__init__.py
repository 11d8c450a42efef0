"""Replay of the seed text's figures, by id. One module a topic; importing it registers its figures."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from tilesearch.answers import VerifyAnswer
from tilesearch.api.verify.figures import ascend, carver, design, fusion, gemm, ledger, roofs
from tilesearch.api.verify.figures.registry import Figure, find_figure, missing_part
from tilesearch.api.verify.replay import Tally, close, read_rows
from tilesearch.errors import TilesearchError

TOPICS = (roofs, gemm, carver, ledger, fusion, design, ascend)
"""The modules whose figures are known."""


class FigureRow(BaseModel):
    """A figure of the text: `value` in the unit of its id, to be reproduced within `rel_tol`."""

    model_config = ConfigDict(extra="ignore")

    id: StrictStr
    value: StrictInt | StrictFloat | StrictStr
    rel_tol: float = Field(default=0.0, ge=0, le=1)


def verify_figures(files: list[Path]) -> VerifyAnswer:
    """Compute every figure of `files` by its id. Ids whose part of the project is not built are skipped."""
    tally = Tally("figures")
    for _, row in read_rows(files, FigureRow):
        compute = find_figure(row.id)
        if compute is None:
            tally.skip(row.id, missing_part(row.id))
            continue
        try:
            got: Figure = compute()
        except TilesearchError as error:  # an id of a known form that names what does not exist
            tally.differ(row.id, row.value, f"error: {error}")
            continue
        if close(row.value, got, row.rel_tol):
            tally.agree += 1
        else:
            tally.differ(row.id, row.value, got)
    return tally.answer()
