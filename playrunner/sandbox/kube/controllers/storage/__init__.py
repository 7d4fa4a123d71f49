"""Volumes and claims."""
