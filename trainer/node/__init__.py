"""What a node does for a run besides training: keep its processes, hear from the other nodes, let
itself be followed.

Standard library only: it starts in a blink and needs nothing of the training environment.
"""
