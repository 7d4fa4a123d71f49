"""Checkpoints: written, verified, replicated and copied to stores."""
