"""Modules and callbacks written for Ansible, as a run uses them."""
