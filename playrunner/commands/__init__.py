"""The commands a user types, one file per group."""
