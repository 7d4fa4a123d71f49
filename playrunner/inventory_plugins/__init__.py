"""Inventory plugins of our own: variables and groups made of expressions, and hosts of clouds.

Each file has `add_hosts(source)`, which adds to the graph of its source.
"""
