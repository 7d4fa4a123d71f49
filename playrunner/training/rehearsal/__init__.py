"""A guide's whole story on the sandbox: its own playbook, inventory, profile and nodes."""
