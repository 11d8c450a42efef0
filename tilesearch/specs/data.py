"""Where the data files that ship with the package lie."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tilesearch.errors import TilesearchError


@cache
def data_dir(name: str) -> Path:
    """The folder of shipped data called `name` (``"hardware"`` or ``"problems"``).

    An installed wheel carries it inside the package; in a checkout, and so in an editable install, it lies
    beside the package. Raises `TilesearchError` if the installation lacks it.
    """
    package = Path(__file__).resolve().parents[1]
    candidates = (package / name, package.parent / name)
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates)
    raise TilesearchError(f"the data folder {name!r} is missing from this installation (looked at {looked})")
