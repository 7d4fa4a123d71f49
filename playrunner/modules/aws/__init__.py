"""Modules for Amazon Web Services; they run on the controller."""
