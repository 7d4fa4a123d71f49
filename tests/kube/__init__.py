"""Roles in a cluster: created, checked, shown and deleted on the sandbox's Kubernetes, or on a real
API server."""
