"""Readers of what is recorded on this machine; they write nothing."""
