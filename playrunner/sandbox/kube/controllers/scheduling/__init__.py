"""Placing pods on nodes."""
