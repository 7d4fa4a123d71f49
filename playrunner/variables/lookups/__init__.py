"""Lookups: values read from outside the variables (files, environment, commands), or generated."""
