"""`python -m tilesearch`."""

from tilesearch.cli import main

main()
