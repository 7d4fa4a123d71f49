"""The user's ansible.cfg and ANSIBLE_* variables."""
