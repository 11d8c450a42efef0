"""Replay of measured times: how the time model ranks and how near it comes, beside carver, traffic and chance."""
