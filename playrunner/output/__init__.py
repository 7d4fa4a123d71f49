"""The only room that prints: lines, diffs, recap, JSON."""
