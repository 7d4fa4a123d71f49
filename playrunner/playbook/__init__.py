"""Reads playbooks from YAML; every error names file, line and remedy, before a host is touched."""

from playrunner.playbook.playbook import load_playbook
from playrunner.playbook.role_files import find_role
from playrunner.playbook.steps import load_step_file

__all__ = ["find_role", "load_playbook", "load_step_file"]
