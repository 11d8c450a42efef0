"""Measuring on the GPU at hand: timing a short list of tiles, and the constants of a device. Needs the `gpu` extra."""
