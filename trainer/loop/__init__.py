"""The training loop: metrics, evaluation, log styles."""
