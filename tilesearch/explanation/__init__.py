"""Explanations: judging a tile rule by rule, the nearest tiles that fit, and conflicts between rules."""
