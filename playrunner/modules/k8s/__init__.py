"""Modules for Kubernetes; they run on the controller."""
