"""The network check before a run: tables, figures, and replacing a bad node."""
