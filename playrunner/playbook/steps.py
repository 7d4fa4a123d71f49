"""Lists of tasks: steps, blocks, and what is imported into them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from playrunner.errors import BadInput, Place
from playrunner.model import NONE, Block, Keywords, Node, Position, Role, Step
from playrunner.playbook import arguments, module_index
from playrunner.playbook import keywords as words
from playrunner.playbook.freeform import command_and_pairs, pairs
from playrunner.playbook.looping import read_loop
from playrunner.text.documents import Located, read_yaml
from playrunner.text.written import all_written, is_template, written

IMPORTS = ("import_tasks", "import_role")
INCLUDES = ("include_tasks", "include_role")


class BringRole(Protocol):
    """Loads the steps of a role that a task names."""

    def __call__(
        self, given: Mapping[str, Any], place: Place, around: Surroundings
    ) -> tuple[Node, ...]: ...


@dataclass(frozen=True)
class Imported:
    """Roles that imports bring into a play: their variables and handlers belong to the whole play."""

    roles: list[Role]
    handlers: list[Node]
    done: list[tuple[Any, ...]]  # mentions of roles so far, so that a dependency runs once


@dataclass(frozen=True)
class Surroundings:
    """Where a list of tasks stands: its folder, its role, what is handed down, and the next free
    position."""

    directory: Path  # of the file the tasks are in
    play_directory: Path
    keywords: Keywords = NONE
    role: Role | None = None
    prefix: Position = ()
    counter: Iterator[int] = field(default_factory=count)
    handlers: bool = False
    imported: Imported | None = None
    # How a role's steps are loaded; given from above, since roles are made of steps
    bring_role: BringRole | None = None
    inside: frozenset[tuple[str, str]] = (
        frozenset()
    )  # includes being looked into; one may include itself
    importing: tuple[Path, ...] = ()  # files whose imports are being loaded

    def position(self) -> Position:
        return (*self.prefix, next(self.counter))


def load_step_file(
    path: Path, around: Surroundings, place: Place | None = None
) -> tuple[Node, ...]:
    """The steps of a file; `place` is where it is named."""
    importing = (*around.importing, path.resolve())
    if importing[-1] in around.importing:
        raise BadInput(
            f"task files import each other in a circle: {words.circle(around.importing, path)};"
            ' a file that is meant to repeat itself is named with "include_tasks" and a condition',
            place,
        )
    return load_nodes(
        read_yaml(path),
        Place(str(path), 1),
        replace(around, directory=path.parent, importing=importing),
    )


def load_nodes(tasks: Any, place: Place, around: Surroundings) -> tuple[Node, ...]:
    if tasks is None:
        return ()
    if not isinstance(tasks, list):
        raise BadInput("a list of tasks is expected here, each starting with '-'", place)
    return tuple(node for task in tasks for node in load_node(task, place, around))


def load_node(task: Any, place: Place, around: Surroundings) -> tuple[Node, ...]:
    if not isinstance(task, Located):
        raise BadInput(f"a task is a mapping such as '- name: ...', not {task!r}", place)
    if "block" in task:
        return (_load_block(task, around),)
    if any(word in task for word in ("rescue", "always")):
        raise BadInput('"rescue" and "always" need a "block" beside them', task.place())
    word, module = _module_word(task)
    given = _given_arguments(task, word, module)
    if module.removeprefix("play.") in IMPORTS:
        return _import(task, module, given, around)
    return (_load_step(task, module, given, around),)


def _load_block(task: Located, around: Surroundings) -> Block:
    words.refuse_unknown(task, words.BLOCK, "a block")
    keywords = words.read_keywords(task).under(around.keywords)
    inside = replace(around, keywords=keywords)
    place = task.place()
    return Block(
        str(task.get("name") or ""),
        load_nodes(task["block"], task.place("block"), inside),
        load_nodes(task.get("rescue"), task.place("rescue"), inside),
        load_nodes(task.get("always"), task.place("always"), inside),
        keywords,
        place,
    )


def _module_word(task: Located) -> tuple[str, str]:
    """The word of a task that names its module, and the module's full name."""
    candidates = [
        word for word in task if word not in words.STEP and not str(word).startswith("with_")
    ]
    for word in ("action", "local_action"):
        if word in task:
            candidates.append(word)
    for word in candidates:
        if word in words.REFUSED:
            raise BadInput(f'"{word}" is not supported: {words.REFUSED[word]}', task.place(word))
    named = [
        word
        for word in candidates
        if word in ("action", "local_action") or module_index.canonical(str(word))
    ]
    if len(named) > 1:
        raise BadInput(
            f'a task names one module; here are "{named[0]}" and "{named[1]}"', task.place(named[1])
        )
    strange = [word for word in candidates if word not in named]
    if strange:
        raise BadInput(_unknown_word(str(strange[0]), bool(named)), task.place(strange[0]))
    if not named:
        raise BadInput('this task names no module; add one, such as "command: ..."', task.place())
    word = named[0]
    if word in ("action", "local_action"):
        text = (
            str(task[word].get("module", ""))
            if isinstance(task[word], dict)
            else str(task[word] or "").partition(" ")[0]
        )
        name = module_index.canonical(text)
        if not name:
            raise BadInput(_unknown_word(text, False), task.place(word))
        return word, name
    return word, module_index.canonical(word) or ""


def _unknown_word(word: str, has_module: bool) -> str:
    keyword = get_close_matches(word, words.STEP, 1, 0.7)
    module = module_index.nearest(word)
    if keyword and (has_module or not module):
        return f'a task has no keyword "{word}"; did you mean "{keyword[0]}"?'
    if has_module:
        return f'a task has no keyword "{word}"'
    hint = (
        f'; did you mean "{module}"?' if module else '; "invoke modules.list" shows what there is'
    )
    return f'there is no module "{word}"{hint}'


def _given_arguments(task: Located, word: str, module: str) -> dict[str, Any]:
    """The raw arguments, wherever the task has them: after the module's name, in one line, or under
    `args`."""
    value, cls, place = task[word], module_index.module_class(module), task.place(word)
    if word in ("action", "local_action"):
        value = (
            {key: inner for key, inner in value.items() if key != "module"}
            if isinstance(value, dict)
            else str(value).partition(" ")[2].strip()
        )
    extra = task.get("args") or {}
    if isinstance(extra, str) and is_template(extra):
        raise BadInput(
            "args must be written out as a mapping, not taken from a template", task.place("args")
        )
    if not isinstance(extra, dict):
        raise BadInput("args takes a mapping of arguments", task.place("args"))
    given = all_written(_one_line(value, cls, module, place)) if isinstance(value, str) else value
    if given is None:
        given = {}
    if isinstance(given, list) and cls.free_form:
        given = {cls.free_form: given}
    if not isinstance(given, dict):
        raise BadInput(f"{module} takes a mapping of arguments, not {given!r}", place)
    if extra:
        given = {**extra, **given}
    words.check_templates(given, place)
    return given


def _one_line(text: str, cls: Any, module: str, place: Place) -> dict[str, Any]:
    if not cls.free_form:
        return pairs(text, module, place) if text.strip() else {}
    known = frozenset(arguments.fields(cls)) | frozenset(cls.aliases)
    if cls.free_form_only:
        return {cls.free_form: text.strip()}
    command, found = command_and_pairs(text, known - {cls.free_form})
    return {**({cls.free_form: command} if command else {}), **found}


def _load_step(task: Located, module: str, given: Mapping[str, Any], around: Surroundings) -> Step:
    cls, place = module_index.module_class(module), task.place()
    include = module.removeprefix("play.") in INCLUDES
    label = f'step "{task["name"]}": {module}' if task.get("name") else module
    keywords = words.read_keywords(task)
    if not cls.takes_any:
        named = arguments.checked_names(
            cls, _with_defaults(given, module, keywords, around), label, place
        )
        given = _with_place(named, given)
        arguments.converted(
            cls, {name: value for name, value in given.items() if _literal(value)}, label, place
        )
    if include:
        _look_inside(module, given, task.place(), around)
    if "local_action" in task:
        keywords = replace(keywords, delegate_to="localhost")
    return Step(
        name=_name(task),
        module=module,
        arguments=given,
        place=place,
        position=around.position(),
        role=around.role,
        keywords=keywords.under(around.keywords),
        outer=around.keywords if include else None,
        params=words.read_vars(task) if include else {},
        loop=read_loop(task),
        register=_register(task),
        until=task.get("until"),
        retries=task.get("retries"),
        delay=task.get("delay", 5),
        notify=tuple(words.as_list(task.get("notify"))),
        listen=tuple(str(topic) for topic in words.as_list(task.get("listen"))),
        changed_when=task.get("changed_when"),
        failed_when=task.get("failed_when"),
        async_seconds=task.get("async"),
        poll=task.get("poll", 15),
        keep=task.get("keep"),
        directory=around.directory,
    )


def _look_inside(module: str, given: Mapping[str, Any], place: Place, around: Surroundings) -> None:
    """Find what is wrong in a plainly named include before a host is touched; a missing one may
    never be reached."""
    name = str(given["file" if module == "play.include_tasks" else "name"])
    if (module, name) in around.inside or not all(map(_literal, given.values())):
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
    elif around.bring_role:
        around.bring_role(given, place, apart)


def _with_defaults(
    given: Mapping[str, Any], module: str, keywords: Keywords, around: Surroundings
) -> Mapping[str, Any]:
    result: dict[str, Any] = {}
    for layer in (*around.keywords.module_defaults, *keywords.module_defaults):
        for name, values in layer.items():
            if module_index.canonical(str(name)) == module and isinstance(values, dict):
                result.update(values)
    return {**result, **given} if result else given


def _with_place(named: dict[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(given, Located):
        located = Located(named)
        located.file, located.line, located.key_lines = given.file, given.line, given.key_lines
        return located
    return named


def _literal(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_literal(inner) for inner in value.values())
    if isinstance(value, list):
        return all(_literal(inner) for inner in value)
    return not is_template(value)


def _name(task: Located) -> str:
    name = task.get("name")
    if isinstance(name, (dict, list)):
        raise BadInput("a task's name is plain text", task.place("name"))
    return "" if name is None else written(str(name))


def _register(task: Located) -> str | None:
    name = task.get("register")
    if name is None:
        return None
    if not isinstance(name, str) or not name.isidentifier():
        raise BadInput(f"register needs a variable name, not {name!r}", task.place("register"))
    return name


def _import(
    task: Located, module: str, given: dict[str, Any], around: Surroundings
) -> tuple[Node, ...]:
    """What an import stands for: its own keywords hold for every step that comes in."""
    if "loop" in task or any(str(word).startswith("with_") for word in task):
        raise BadInput(
            f'an import cannot be looped; use "include_{module.rpartition("_")[2]}"', task.place()
        )
    cls = module_index.module_class(module)
    named = arguments.checked_names(cls, given, module, task.place())
    inside = replace(around, keywords=words.read_keywords(task).under(around.keywords))
    if module == "play.import_role":
        if is_template(named["name"]):
            raise BadInput(
                'an imported role needs a plain name; use "include_role" for a name from a'
                " template",
                task.place(),
            )
        assert around.bring_role
        return around.bring_role(named, task.place(), inside)
    file = str(named["file"])
    if is_template(named["file"]):
        raise BadInput(
            'an imported file needs a plain name; use "include_tasks" for a name from a template',
            task.place(),
        )
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
    raise BadInput(
        f'there is no task file "{file}"; looked in {", ".join(dict.fromkeys(map(str, folders)))}',
        place,
    )
