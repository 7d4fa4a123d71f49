"""YAML in, Play out; every complaint names file, line and remedy, before a host is touched."""

from playrunner.load.playbook import load_playbook
from playrunner.load.roles import find_role
from playrunner.load.steps import load_step_file

__all__ = ["find_role", "load_playbook", "load_step_file"]
