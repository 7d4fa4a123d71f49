"""Which nodes a run takes: those of the inventory, free ones, and what the sandbox has."""
