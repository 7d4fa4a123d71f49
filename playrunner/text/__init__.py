"""Text in, values out: guarded YAML and JSON readers, and suggestions for misspelled words."""
