"""Machine types and their devices."""
