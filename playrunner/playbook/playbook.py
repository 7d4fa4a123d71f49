"""Playbooks: plays in order, and playbooks imported into them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.model import Keywords, Play
from playrunner.playbook import arguments
from playrunner.playbook import keywords as task_keywords
from playrunner.playbook.roles import RoleList, import_role
from playrunner.playbook.steps import load_nodes
from playrunner.playbook.surroundings import Imported, Surroundings
from playrunner.text.documents import Located, parse_yaml, read_yaml
from playrunner.text.written import is_template

_IMPORT_KEYWORDS = frozenset(
    {"import_playbook", "ansible.builtin.import_playbook", "name", "vars", "tags", "when"}
)
_SECTIONS = ("pre_tasks", "tasks", "post_tasks")


def load_playbook(
    path: Path, outer: Keywords = Keywords(), chain: tuple[Path, ...] = ()
) -> list[Play]:
    """Every play of a playbook; nothing is run and no host is touched."""
    entries = read_yaml(path)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise BadInput(
            "a playbook is a list of plays, each starting with '- hosts: ...'", Place(str(path), 1)
        )
    plays: list[Play] = []
    for entry in entries:
        if not isinstance(entry, Located):
            raise BadInput(
                f"a play is a mapping with hosts and tasks, not {entry!r}", Place(str(path), 1)
            )
        word = next((word for word in entry if str(word).endswith("import_playbook")), None)
        plays += (
            _imported(entry, word, path, outer, chain)
            if word
            else [_load_play(entry, path.parent, outer)]
        )
    return plays


def role_play(role: str, hosts: str, tasks: str = "main") -> Play:
    """A play with the steps of one role, for the commands of a role."""
    steps = [{"import_role": {"name": role, "tasks_from": tasks}}]
    text = json.dumps([{"name": role, "hosts": hosts, "gather_facts": False, "tasks": steps}])
    (entry,) = parse_yaml(text, f"roles/{role}")
    return _load_play(entry, Path.cwd(), Keywords())


def roles_play(roles: Sequence[str], hosts: str = "localhost") -> Play:
    """A play of whole roles and their dependencies, each once, for the commands of roles."""
    text = json.dumps(
        [{"name": ", ".join(roles), "hosts": hosts, "gather_facts": False, "roles": list(roles)}]
    )
    (entry,) = parse_yaml(text, "roles")
    return _load_play(entry, Path.cwd(), Keywords())


def _imported(
    entry: Located, word: str, path: Path, outer: Keywords, chain: tuple[Path, ...]
) -> list[Play]:
    task_keywords.refuse_unknown(entry, _IMPORT_KEYWORDS, "import_playbook")
    name = entry[word]
    if not isinstance(name, str) or is_template(name):
        raise BadInput("import_playbook takes the plain name of a playbook", entry.place(word))
    target = path.parent / name
    if not os.path.isfile(target):
        raise BadInput(f'there is no playbook "{target}"', entry.place(word))
    if target.resolve() in (chain := (*chain, path.resolve())):
        raise BadInput(
            f"playbooks import each other in a circle: {task_keywords.circle(chain, target)}",
            entry.place(word),
        )
    return load_playbook(target, task_keywords.read_keywords(entry).under(outer), chain)


def _load_play(entry: Located, directory: Path, outer: Keywords) -> Play:
    task_keywords.refuse_unknown(entry, task_keywords.PLAY, "a play")
    if "hosts" not in entry:
        raise BadInput('this play has no "hosts"', entry.place())
    if not entry["hosts"] or not isinstance(entry["hosts"], (str, list)):
        raise BadInput(
            '"hosts" takes a pattern such as all, or a list of them', entry.place("hosts")
        )
    _check_choice(entry, "strategy", ("free", "linear", "host_pinned"))
    _check_choice(
        entry, "order", ("inventory", "sorted", "reverse_sorted", "reverse_inventory", "shuffle")
    )
    own = task_keywords.read_keywords(entry)
    # A play's variables rank below its roles'; what an importing playbook passes down is the play's
    # too.
    variables = {name: value for layer in (*outer.vars, *own.vars) for name, value in layer.items()}
    keywords = replace(own.under(outer), vars=())
    imported = Imported([], [], [])
    around = Surroundings(
        directory, directory, keywords, imported=imported, import_role=import_role
    )
    roles = RoleList(around, imported.done)
    before = load_nodes(entry.get("pre_tasks"), entry.place("pre_tasks"), around)
    for role in _list(entry, "roles"):
        roles.add(role, entry.place("roles"))
    tasks, after = (
        load_nodes(entry.get(name), entry.place(name), around) for name in _SECTIONS[1:]
    )
    handlers = load_nodes(
        entry.get("handlers"), entry.place("handlers"), replace(around, handlers=True)
    )
    return Play(
        name=str(entry.get("name") or _hosts_text(entry["hosts"])),
        hosts=entry["hosts"],
        place=entry.place(),
        directory=directory,
        keywords=keywords,
        sections=(before, tuple(roles.nodes) + tasks, after),
        handlers=(*roles.handlers, *handlers, *imported.handlers),
        roles=(*roles.roles, *imported.roles),
        mentions=tuple(imported.done),
        vars=variables,
        vars_files=tuple(task_keywords.as_list(entry.get("vars_files"))),
        vars_prompt=_prompts(entry),
        gather_facts=entry.get("gather_facts", True),
        gather_subset=entry.get("gather_subset"),
        serial=_serial(entry),
        max_fail_percentage=entry.get("max_fail_percentage"),
        any_errors_fatal=entry.get("any_errors_fatal", False),
        force_handlers=_flag(entry, "force_handlers"),
        strategy=str(entry.get("strategy", "free")),
        order=str(entry.get("order", "inventory")),
    )


def _list(entry: Located, word: str) -> list[Any]:
    value = entry.get(word)
    if value is not None and not isinstance(value, list):
        raise BadInput(f'"{word}" takes a list', entry.place(word))
    return value or []


def _serial(entry: Located) -> tuple[Any, ...]:
    sizes = tuple(task_keywords.as_list(entry.get("serial")))
    for size in sizes:
        text = str(size)
        if not is_template(size) and not (text.removesuffix("%").isdecimal()):
            raise BadInput(
                f"serial takes a number of hosts or a percentage, not {size!r}",
                entry.place("serial"),
            )
    return sizes


def _flag(entry: Located, word: str) -> bool:
    try:
        return arguments.as_bool(entry.get(word, False))
    except ValueError as error:
        raise BadInput(f"{word} {error}", entry.place(word)) from None


def _check_choice(entry: Located, word: str, choices: tuple[str, ...]) -> None:
    if word in entry and str(entry[word]).removeprefix("ansible.builtin.") not in choices:
        raise BadInput(
            f'{word} cannot be "{entry[word]}"; one of {", ".join(choices)}', entry.place(word)
        )


def _prompts(entry: Located) -> tuple[Located, ...]:
    prompts = _list(entry, "vars_prompt")
    for prompt in prompts:
        if not isinstance(prompt, Located) or "name" not in prompt:
            raise BadInput(
                'each of vars_prompt is a mapping with a "name"', entry.place("vars_prompt")
            )
    return tuple(prompts)


def _hosts_text(hosts: Any) -> str:
    return hosts if isinstance(hosts, str) else ",".join(map(str, hosts))
