"""The command line: parsing and exit statuses. What is computed is in `api`, how it looks in `report`.

A command is one function in one module of `cli.commands`, listed in `cli.app`.
"""

from tilesearch.cli.run import main, run

__all__ = ["main", "run"]
