"""Data sets: which one a profile reads, where it comes from, and where it is staged to."""
