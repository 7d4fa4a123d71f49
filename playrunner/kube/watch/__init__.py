"""Watching objects until they are ready, and explaining why they are not."""
