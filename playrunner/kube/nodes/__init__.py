"""Nodes: labels and taints, draining, quarantine, and what they offer."""
