"""Runs as the cluster reports them: which there are, their logs, and following one to its end."""
