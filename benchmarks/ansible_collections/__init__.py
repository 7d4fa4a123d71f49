"""Modules of collections: ansible-playbook and ours on the same hosts, the same results, and how
long each takes."""
