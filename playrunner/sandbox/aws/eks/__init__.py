"""EKS of the pretend AWS."""
