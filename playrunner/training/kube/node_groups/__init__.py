"""Node groups of the cluster, and growing them."""
