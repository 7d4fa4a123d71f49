"""Kinds, their fields and names."""
