"""One step typed by hand, as a play of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import Place
from playrunner.model import Keywords, Play
from playrunner.playbook.roles import import_role
from playrunner.playbook.steps import load_node
from playrunner.playbook.surroundings import Surroundings
from playrunner.text.documents import Located, parse_yaml


def one_step_play(
    pattern: str,
    module: str,
    args: str,
    become: bool,
    outer: Keywords | None = None,
    task_keywords: Mapping[str, Any] | None = None,
) -> Play:
    """`args` is what a playbook has after the module's name: name=value words, a command line, or
    JSON. `outer` are the play's keywords instead of `become`, `task_keywords` the step's own."""
    place = Place("the command line")
    value = parse_yaml(args, "--args") if args.strip().startswith("{") else args
    task = Located({module: value, **(task_keywords or {})})
    task.file, task.key_lines = str(place), {}
    keywords = outer or Keywords(become=become or None)
    nodes = load_node(
        task, place, Surroundings(Path.cwd(), Path.cwd(), keywords, import_role=import_role)
    )
    return Play(
        module, pattern, place, Path.cwd(), keywords, (nodes,), (), (), {}, gather_facts=False
    )
