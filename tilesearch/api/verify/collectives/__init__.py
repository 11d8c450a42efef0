"""Replay of measured collectives and tensor-parallel products: how near the link model comes."""
