"""Deployments, DaemonSets, Jobs, Services and what else keeps pods alive."""
