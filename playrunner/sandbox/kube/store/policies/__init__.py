"""Admission policies, and the expressions (CEL) that they are written in."""
