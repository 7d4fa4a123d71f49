"""Objects: stored, validated, patched, deleted."""
