"""Optimizers, schedules and DeepSpeed's configuration."""
