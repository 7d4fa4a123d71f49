"""Output of runs: result lines, diffs, recap, JSON."""
