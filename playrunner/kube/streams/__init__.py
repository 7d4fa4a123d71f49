"""Streams into pods: commands and ports."""
