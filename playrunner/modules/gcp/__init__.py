"""Modules for Google Cloud; they run on the controller."""
