"""Protocols and encodings."""
