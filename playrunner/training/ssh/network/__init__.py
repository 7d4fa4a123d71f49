"""The network between hosts, measured before and without training."""
