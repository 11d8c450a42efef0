"""The expression tree, the rules and the metrics that are written in it."""
