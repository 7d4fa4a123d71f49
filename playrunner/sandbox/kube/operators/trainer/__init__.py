"""Kubeflow Trainer: `job_sets` is the pure half (what a TrainJob and its runtime make together, and
what its status says), `controller` looks and does it, `webhooks` judges."""
