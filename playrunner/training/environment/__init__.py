"""The environment that a run's processes get, each variable with its reason."""
