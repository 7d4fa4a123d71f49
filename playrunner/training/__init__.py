"""Training runs, over SSH and on Kubernetes."""
