"""Ascend in the expression tree: costs of copies, products and vector blocks, capacities, alignments and periods."""
