"""Reaching hosts: targets, host keys, connections, agents and port forwarding."""
