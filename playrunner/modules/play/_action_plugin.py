"""A module with an action plugin written for Ansible; run/action_step.py runs it."""

from __future__ import annotations

from typing import ClassVar

from playrunner.hostside.module import Action


class ActionPlugin(Action):
    takes_any: ClassVar[bool] = True  # it checks its arguments itself
