"""Defaults and validation rules."""
