"""What a node does for a run besides training: supervise its processes, exchange heartbeats with
the other nodes, stream its log.

Standard library only: it starts fast and needs nothing of the training environment.
"""
