"""The jump host's inventory file, and logging in to it."""
