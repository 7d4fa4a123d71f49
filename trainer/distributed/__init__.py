"""The process group, and each rank's progress."""
