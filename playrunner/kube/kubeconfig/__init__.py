"""Kubeconfig files, written and merged."""
