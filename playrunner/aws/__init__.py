"""AWS clients, tags and EKS tokens."""
