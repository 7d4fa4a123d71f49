"""Runs on the terminal."""
