"""The network of a run on a cluster: its check before training, and its bandwidth."""
