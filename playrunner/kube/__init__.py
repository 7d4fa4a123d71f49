"""Kubernetes: the client, kubeconfig files, watches, sets of objects, streams and nodes."""
