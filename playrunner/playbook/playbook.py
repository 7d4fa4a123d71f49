"""Playbooks: plays in order, and playbooks imported into them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, Place
from playrunner.model import Keywords, Play
from playrunner.playbook import arguments
from playrunner.playbook import keywords as task_keywords
from playrunner.playbook.load_scope import VarsFiles, rendered_at_load
from playrunner.playbook.roles import RoleList, add_plugins_of_role, import_role
from playrunner.playbook.steps import load_nodes
from playrunner.playbook.surroundings import Imported, Surroundings
from playrunner.plugins import folders as plugin_folders
from playrunner.text.documents import Located, parse_yaml, read_yaml
from playrunner.text.layered import Layered
from playrunner.text.written import is_template
from playrunner.variables.templating import default_templar

IMPORT_PLAYBOOK = tuple(
    f"{prefix}import_playbook" for prefix in ("", "ansible.builtin.", "ansible.legacy.")
)
_IMPORT_KEYWORDS = frozenset({*IMPORT_PLAYBOOK, "name", "vars", "tags", "when"})
_STRATEGIES = ("free", "linear", "host_pinned")
_ORDERS = ("inventory", "sorted", "reverse_sorted", "reverse_inventory", "shuffle")
_PROMPT_WORDS = frozenset(
    ["name", "prompt", "default", "private", "confirm", "encrypt", "salt_size", "salt", "unsafe"]
)
_SECTIONS = ("pre_tasks", "tasks", "post_tasks")


def load_playbook(
    path: Path,
    outer: Keywords = Keywords(),
    chain: tuple[Path, ...] = (),
    extra: Mapping[str, Any] | None = None,
) -> list[Play]:
    """Every play of a playbook; nothing is run and no host is touched. `extra` are --extra-vars,
    which templates of imports may read."""
    if extensions := ansible_config().words("jinja2_extensions"):
        default_templar.use_extensions(extensions)
    entries = read_yaml(path)
    if entries is None or entries == []:
        raise BadInput("A playbook must contain at least one play", Place(str(path)))
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
            _imported(entry, word, path, outer, chain, extra or {})
            if word
            else [_load_play(entry, path.parent, outer, extra or {})]
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
    entry: Located,
    word: str,
    path: Path,
    outer: Keywords,
    chain: tuple[Path, ...],
    extra: Mapping[str, Any],
) -> list[Play]:
    task_keywords.refuse_unknown(entry, _IMPORT_KEYWORDS, "import_playbook")
    keywords = task_keywords.read_keywords(entry).under(outer)
    around = Surroundings(path.parent, path.parent, keywords, known=(extra,))
    name = rendered_at_load(entry[word], "import_playbook", entry.place(word), around)
    if not isinstance(name, str):
        raise BadInput("import_playbook takes the name of a playbook", entry.place(word))
    target = path.parent / name
    if not os.path.isfile(target):
        raise BadInput(f'there is no playbook "{target}"', entry.place(word))
    if target.resolve() in (chain := (*chain, path.resolve())):
        raise BadInput(
            f"playbooks import each other in a circle: {task_keywords.circle(chain, target)}",
            entry.place(word),
        )
    return load_playbook(target, keywords, chain, extra)


def _load_play(
    entry: Located, directory: Path, outer: Keywords, extra: Mapping[str, Any] | None = None
) -> Play:
    entry = _with_remote_user(entry)
    plugin_folders.add_playbook(directory)
    for role in _list(entry, "roles"):
        add_plugins_of_role(role, entry.place("roles"), directory)
    task_keywords.refuse_unknown(entry, task_keywords.PLAY, "a play")
    if "hosts" not in entry:
        raise BadInput('this play has no "hosts"', entry.place())
    if not entry["hosts"] or not isinstance(entry["hosts"], (str, list)):
        raise BadInput(
            "Hosts list cannot be empty. Please check your playbook"
            if not entry["hosts"]
            else '"hosts" takes a pattern such as all, or a list of them',
            entry.place("hosts"),
        )
    own, config = task_keywords.read_keywords(entry), ansible_config()
    # A play's variables rank below its roles'; what importing playbooks pass down wins over them,
    # the outermost over all.
    variables = Layered(*own.vars, *reversed(outer.vars))
    keywords = replace(own.under(outer), vars=())
    imported = Imported([], [], [])
    files = task_keywords.as_list(entry.get("vars_files"))
    around = Surroundings(
        directory,
        directory,
        keywords,
        imported=imported,
        import_role=import_role,
        collections=task_keywords.read_collections(entry),
        known=(extra or {}, VarsFiles(files, directory), variables),
    )
    roles = RoleList(around, imported.done)
    before = load_nodes(entry.get("pre_tasks"), entry.place("pre_tasks"), around, "pre_tasks")
    for role in _list(entry, "roles"):
        roles.add(role, entry.place("roles"))
    tasks, after = (
        load_nodes(entry.get(name), entry.place(name), around, name) for name in _SECTIONS[1:]
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
        vars_files=tuple(files),
        vars_prompt=_prompts(entry),
        gather_facts=entry.get("gather_facts"),
        gather_subset=entry.get("gather_subset"),
        serial=_serial(entry),
        max_fail_percentage=entry.get("max_fail_percentage"),
        any_errors_fatal=entry.get("any_errors_fatal", config.flag("any_errors_fatal")),
        force_handlers=_flag(entry, "force_handlers", around)
        if entry.get("force_handlers") is not None
        else None,
        strategy=_choice(entry, "strategy", _STRATEGIES, around) or config.text("strategy", "free"),
        order=_choice(entry, "order", _ORDERS, around) or "inventory",
    )


def _with_remote_user(entry: Located) -> Located:
    """A play's `user` is an old name of remote_user."""
    if "user" not in entry:
        return entry
    if "remote_user" in entry:
        raise BadInput(
            "both 'user' and 'remote_user' are set for this play. 'user' is an old name of"
            " 'remote_user'; remove it",
            entry.place("user"),
        )
    entry.key_lines["remote_user"] = entry.key_lines.get("user", entry.line)
    items = {"remote_user" if word == "user" else word: entry[word] for word in entry}
    return entry.with_items(items)


def _list(entry: Located, word: str) -> list[Any]:
    value = entry.get(word)
    if value is not None and not isinstance(value, list):
        malformed = "A malformed role declaration was encountered. " * (word == "roles")
        raise BadInput(f'{malformed}"{word}" takes a list', entry.place(word))
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


def _flag(entry: Located, word: str, around: Surroundings) -> bool:
    value = rendered_at_load(entry.get(word, False), word, entry.place(word), around)
    try:
        return arguments.as_bool(value)
    except ValueError as error:
        raise BadInput(f"{word} {error}", entry.place(word)) from None


def _choice(entry: Located, word: str, choices: tuple[str, ...], around: Surroundings) -> str:
    """One of a few words, perhaps from a template; empty where it is not given."""
    if word not in entry:
        return ""
    value = str(rendered_at_load(entry[word], word, entry.place(word), around))
    value = value.removeprefix("ansible.builtin.")
    if value not in choices:
        raise BadInput(
            f'{word} cannot be "{value}"; one of {", ".join(choices)}', entry.place(word)
        )
    return value


def _prompts(entry: Located) -> tuple[Located, ...]:
    given = entry.get("vars_prompt")
    prompts = [given] if isinstance(given, Located) else _list(entry, "vars_prompt")
    for prompt in prompts:
        if not isinstance(prompt, Located) or "name" not in prompt:
            raise BadInput(
                "Invalid vars_prompt data structure, missing 'name' key",
                entry.place("vars_prompt"),
            )
        for word in prompt:
            if word not in _PROMPT_WORDS:
                raise BadInput(
                    f"Invalid vars_prompt data structure, found unsupported key {word!r}",
                    prompt.place(),
                )
    return tuple(prompts)


def _hosts_text(hosts: Any) -> str:
    return hosts if isinstance(hosts, str) else ",".join(map(str, hosts))
