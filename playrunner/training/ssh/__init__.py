"""Training runs on hosts reached over SSH."""
