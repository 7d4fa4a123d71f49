"""Fixtures that any test may ask for."""

pytest_plugins = ["tests.sshd"]
