"""Engines: readers of the same rules that list, optimise or refute."""
