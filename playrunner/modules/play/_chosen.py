"""A module that a template names (`action: "{{ package_module }} name=git"`), until the step is
reached; run/control/chosen_module.py puts the real one in its place."""

from __future__ import annotations

from typing import ClassVar

from playrunner.hostside.module import Action


class Chosen(Action):
    takes_any: ClassVar[bool] = True  # the arguments are checked once the module is known
