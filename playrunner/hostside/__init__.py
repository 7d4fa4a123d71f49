"""Code that is sent to hosts and runs inside the agent: Python 3.9, standard library only."""
