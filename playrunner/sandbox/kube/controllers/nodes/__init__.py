"""Nodes of the cluster, from the pretend clouds' machines."""
