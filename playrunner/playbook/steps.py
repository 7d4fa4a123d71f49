"""Lists of tasks: steps, blocks, and what is imported into them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import (
    BadArgument,
    BadInput,
    FormerArgument,
    NoSuchTasks,
    NotInstalled,
    Place,
)
from playrunner.model import Block, Keywords, Node, Step
from playrunner.playbook import arguments, module_index
from playrunner.playbook import keywords as task_keywords
from playrunner.playbook.load_scope import rendered_at_load
from playrunner.playbook.looping import read_loop
from playrunner.playbook.step_arguments import (
    ReservedArgument,
    checked_arguments,
    is_literal,
    unchosen_arguments,
)
from playrunner.playbook.surroundings import Surroundings
from playrunner.playbook.task_module import ACTIONS, action_words, module_of_task, raw_arguments
from playrunner.text.documents import Located, read_yaml
from playrunner.text.variable_names import is_variable_name
from playrunner.text.written import written

IMPORTS = ("import_tasks", "import_role")
INCLUDES = ("include_tasks", "include_role")


def load_step_file(
    path: Path, around: Surroundings, place: Place | None = None
) -> tuple[Node, ...]:
    """The steps of a file; `place` is where it is named."""
    importing = (*around.importing, path.resolve())
    if importing[-1] in around.importing:
        raise BadInput(
            f"task files import each other in a circle:"
            f" {task_keywords.circle(around.importing, path)};"
            ' a file that is meant to repeat itself is named with "include_tasks" and a condition',
            place,
        )
    return load_nodes(
        read_yaml(path),
        Place(str(path), 1),
        replace(around, directory=path.parent, importing=importing),
    )


def load_nodes(
    tasks: Any, place: Place, around: Surroundings, section: str = "tasks"
) -> tuple[Node, ...]:
    if tasks is None:
        return ()
    if not isinstance(tasks, list):
        raise BadInput(
            f"A malformed block was encountered while loading {section}: {tasks!r:.80} should be a"
            " list or None; each task starts with '-'",
            place,
        )
    return tuple(node for task in tasks for node in load_node(task, place, around))


def load_node(task: Any, place: Place, around: Surroundings) -> tuple[Node, ...]:
    if not isinstance(task, Located):
        raise BadInput(f"a task is a mapping such as '- name: ...', not {task!r}", place)
    if "block" in task:
        return (_load_block(task, around),)
    if any(word in task for word in ("rescue", "always")):
        raise BadInput('"rescue" and "always" need a "block" beside them', task.place())
    word, module = module_of_task(task, around.collections)
    if around.handlers and module in ("play.include_role", "play.import_role"):
        raise BadInput(f"Using '{word}' as a handler is not supported.", task.place())
    if module.removeprefix("play.") in IMPORTS:
        return _import(task, module, raw_arguments(task, word, module), around)
    return (_load_step(task, word, module, around),)


def _load_block(task: Located, around: Surroundings) -> Block:
    task_keywords.refuse_unknown(task, task_keywords.BLOCK, "a block")
    if around.handlers:
        for part in ("block", "rescue", "always"):
            _refuse_nested(task.get(part))
    keywords = task_keywords.read_keywords(task).under(around.keywords)
    inside = replace(
        around,
        keywords=keywords,
        collections=task_keywords.read_collections(task) or around.collections,
    )
    body = replace(inside, rescued=around.rescued or bool(task.get("rescue")))
    place = task.place()
    return Block(
        str(task.get("name") or ""),
        load_nodes(task["block"], task.place("block"), body),
        load_nodes(task.get("rescue"), task.place("rescue"), replace(inside, rescued=True)),
        load_nodes(task.get("always"), task.place("always"), inside),
        keywords,
        place,
    )


def _refuse_nested(tasks: Any) -> None:
    """Handlers may stand in a block, as with Ansible, but not in one within another."""
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, Located) and "block" in task:
            raise BadInput("Using a block as a handler is not supported.", task.place())


def _load_step(task: Located, word: str, module: str, around: Surroundings) -> Step:
    place, include = task.place(), module.removeprefix("play.") in INCLUDES
    if include:
        task_keywords.refuse_at_include(task, word, around.handlers)
    elif module == "play.meta":
        _refuse_meta(task, word, around)
    task, keywords, problem = task_keywords.read_usable(task)
    if problem and include:  # it would go on without the keyword
        raise problem
    inherited = keywords.under(around.keywords)
    values: Mapping[str, Any] = {}
    whole: tuple[Any, ...] = ()
    try:
        if problem:
            raise problem
        values, whole = _arguments(task, word, module, keywords, around)
        if include:
            _look_inside(module, values, place, around)
    except ReservedArgument:
        raise
    except BadInput as error:
        # What an include needs may be installed by a step before it
        late = isinstance(error, NotInstalled) if include else isinstance(error, FormerArgument)
        if not late and not _may_be_meant(task, inherited, around, include):
            raise
        problem = error
    if "local_action" in task:
        keywords = replace(keywords, delegate_to="localhost")
    return Step(
        name=_name(task),
        module=module,
        arguments=values,
        place=place,
        position=around.position(),
        role=around.role,
        keywords=inherited,
        outer=around.keywords if include else None,
        params=task_keywords.read_vars(task) if include else {},
        loop=read_loop(task),
        register=_register(task),
        until=task.get("until"),
        retries=task.get("retries"),
        delay=task.get("delay", 5),
        notify=tuple(task_keywords.as_list(inherited.notify)),
        action=action_words(task[word])[0] if word in ACTIONS else word,
        refusal=problem.result if isinstance(problem, BadArgument) else str(problem or ""),
        listen=tuple(str(topic) for topic in task_keywords.as_list(task.get("listen"))),
        changed_when=task.get("changed_when"),
        failed_when=task.get("failed_when"),
        async_seconds=task.get("async"),
        poll=task.get("poll", ansible_config().get("poll_interval", 15)),
        keep=task.get("keep"),
        whole=whole,
        directory=around.directory,
    )


def _refuse_meta(task: Located, word: str, around: Surroundings) -> None:
    action = str(task[word]).strip()
    if action == "flush_handlers" and around.handlers:
        raise BadInput("flush_handlers cannot be used as a handler", task.place())
    if action != "end_role":
        return
    if around.handlers:
        raise BadInput("Cannot execute 'end_role' from a handler", task.place())
    if around.role is None:
        raise BadInput("Cannot execute 'end_role' from outside of a role", task.place())


def _arguments(
    task: Located, word: str, module: str, keywords: Keywords, around: Surroundings
) -> tuple[Mapping[str, Any], tuple[Any, ...]]:
    """The checked arguments of a task, and the templates that give further ones."""
    if module == module_index.CHOSEN:
        return unchosen_arguments(task, word, around.collections), ()
    values: Mapping[str, Any] = raw_arguments(task, word, module)
    layers = (*around.keywords.module_defaults, *keywords.module_defaults)
    label = f'step "{task["name"]}": {module}' if task.get("name") else module
    return checked_arguments(values, module, layers, label, task.place())


def _may_be_meant(task: Located, keywords: Keywords, around: Surroundings, include: bool) -> bool:
    """Whether a step that cannot work may be skipped, or is meant to fail: then it fails when its
    turn has come."""
    tolerated = not include and (keywords.ignore_errors or "failed_when" in task)
    return bool(keywords.when or tolerated or around.rescued or around.handlers)


def _look_inside(
    module: str, values: Mapping[str, Any], place: Place, around: Surroundings
) -> None:
    """Check an include with a literal name before a host is touched; a missing file is no error,
    since the include may never be reached."""
    name = str(values["file" if module == "play.include_tasks" else "name"])
    if (module, name) in around.inside or not all(map(is_literal, values.values())):
        return
    apart = replace(
        around,
        inside=around.inside | {(module, name)},
        counter=count(),
        imported=None,
        importing=(),
    )
    if module == "play.include_tasks":
        try:
            path = find_step_file(name, place, around)
        except BadInput:
            return
        load_step_file(path, apart)
    elif around.import_role:
        around.import_role(values, place, apart)


def _name(task: Located) -> str:
    name = task.get("name")
    if isinstance(name, (dict, list)):
        raise BadInput("a task's name is plain text", task.place("name"))
    return "" if name is None else written(str(name))


def _register(task: Located) -> str | None:
    name = task.get("register")
    if name is None:
        return None
    if not is_variable_name(name):
        raise BadInput(f"Invalid variable name in 'register': {name!r}", task.place("register"))
    return str(name)


def _import(
    task: Located, module: str, values: dict[str, Any], around: Surroundings
) -> tuple[Node, ...]:
    """The steps of an import; its own keywords hold for each of them."""
    if "loop" in task or any(str(word).startswith("with_") for word in task):
        raise BadInput(
            f'an import cannot be looped; use "include_{module.rpartition("_")[2]}"', task.place()
        )
    cls = module_index.module_class(module)
    named = arguments.checked_names(cls, values, module, task.place())
    inside = replace(around, keywords=task_keywords.read_keywords(task).under(around.keywords))
    named = {
        name: rendered_at_load(value, module.removeprefix("play."), task.place(), inside)
        for name, value in named.items()
    }
    if module == "play.import_role":
        assert around.import_role
        return around.import_role(named, task.place(), inside)
    file = str(named["file"])
    return load_step_file(find_step_file(file, task.place(), around), inside, task.place())


def find_step_file(file: str, place: Place, around: Surroundings) -> Path:
    """A task file as Ansible looks for it: in the role's tasks, beside this file, beside the
    playbook."""
    folders = [around.directory, around.play_directory]
    if around.role:
        kind = "handlers" if around.handlers else "tasks"
        folders = [
            around.role.path / kind,
            around.directory,
            around.role.path,
            around.play_directory,
        ]
    folders += [folder / "tasks" for folder in (around.directory, around.play_directory)]
    for folder in folders:
        if os.path.isfile(folder / file):
            return folder / file
    raise NoSuchTasks(
        f'there is no task file "{file}"; looked in {", ".join(dict.fromkeys(map(str, folders)))}',
        place,
    )
