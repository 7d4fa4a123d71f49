"""What travels to hosts and runs there inside the agent: Python 3.9, standard library only."""
