"""Modules of the engine that belong to training."""
