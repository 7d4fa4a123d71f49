"""The process that runs all controllers of the sandbox's cluster, operators included."""
