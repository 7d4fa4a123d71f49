"""Pods beside a run: one-off jobs, shells, and compiling ahead."""
