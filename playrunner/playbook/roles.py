"""Roles: the folders, their variables and dependencies, and the steps they bring into a play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from playrunner.errors import BadInput, Place
from playrunner.model import Keywords, Node, Role, RoleBlock, RoleMention
from playrunner.playbook import keywords as task_keywords
from playrunner.playbook.arguments import as_bool
from playrunner.playbook.load_scope import rendered_at_load
from playrunner.playbook.role_files import find_role, main_file, variables_file
from playrunner.playbook.role_spec import validation
from playrunner.playbook.steps import load_step_file
from playrunner.playbook.surroundings import Surroundings
from playrunner.plugins import folders as plugin_folders
from playrunner.plugins.collections import own_collection
from playrunner.text.documents import Located, read_yaml
from playrunner.text.written import is_template

_ROLE_KEYWORDS = task_keywords.SHARED - {"notify"} | {"role", "name"}
SUFFIXES = ("", ".yml", ".yaml", ".json")


def load_role(
    name: str,
    params: Mapping[str, Any],
    place: Place,
    around: Surroundings,
    parts: Mapping[str, str] | None = None,
) -> Role:
    """The role with its variables; `parts` names other files than main (tasks_from, vars_from,
    defaults_from)."""
    parts = parts or {}
    beside = around.role.path if around.role else None
    path = find_role(name, place, around.play_directory, beside, around.collections)
    plugin_folders.add_role(path)
    chain = (*around.role.parents, around.role.name) if around.role else ()
    paths = (*around.role.parent_paths, around.role.path) if around.role else ()
    collection = next(iter(own_collection(path)), "")
    return Role(
        f"{collection}.{path.name}" if collection else _shown_name(name, path),
        path,
        variables_file(path, "defaults", parts.get("defaults_from", "main"), place),
        variables_file(path, "vars", parts.get("vars_from", "main"), place),
        {**around.role.params, **params} if around.role else params,
        {**around.role.inherited, **around.role.vars} if around.role else {},
        {**around.role.inherited_defaults, **around.role.defaults} if around.role else {},
        chain,
        paths,
        collection=collection,
    )


def _shown_name(name: str, path: Path) -> str:
    """As it was written where that is a path below a folder of roles, as with Ansible."""
    return name if path.as_posix().endswith(f"/{name}") else path.name


def add_plugins_of_role(entry: Any, place: Place, play_directory: Path) -> None:
    """Make the plugins of a role known before its play is read: the play may use them anywhere.

    What is wrong with the role is reported where it is loaded.
    """
    name = entry.get("role", entry.get("name")) if isinstance(entry, dict) else entry
    if not isinstance(name, str) or is_template(name):
        return
    try:
        plugin_folders.add_role(find_role(name, place, play_directory))
    except BadInput:
        pass


def role_nodes(
    role: Role, place: Place, around: Surroundings, tasks_from: str = "main"
) -> tuple[Node, ...]:
    file = main_file(role.path, "tasks", tasks_from)
    if file and not file.resolve().is_relative_to(role.path.resolve()):
        raise BadInput(
            f"Failed loading main file for role ({role.name}) as it is not inside the expected role"
            f" path: '{file}'",
            place,
        )
    if file is None:
        if tasks_from != "main":
            raise BadInput(f'role "{role.name}" has no tasks/{tasks_from}', place)
        return ()
    return load_step_file(file, replace(around, role=role), place)


def role_handlers(
    role: Role, around: Surroundings, handlers_from: str = "main"
) -> tuple[Node, ...]:
    file = main_file(role.path, "handlers", handlers_from)
    return load_step_file(file, replace(around, role=role, handlers=True)) if file else ()


def read_meta(role: Role) -> Located:
    file = main_file(role.path, "meta", "main")
    meta = read_yaml(file) if file else None
    if meta is None:
        empty = Located()
        empty.file, empty.key_lines = str(file or role.path), {}
        return empty
    if not isinstance(meta, Located):
        raise BadInput("a role's meta file holds a mapping", Place(str(file), 1))
    return meta


class _Given(NamedTuple):
    """Variables and defaults that a role gives to those that depend on it."""

    vars: Mapping[str, Any]
    defaults: Mapping[str, Any]

    def under(self, stronger: _Given) -> _Given:
        return _Given({**self.vars, **stronger.vars}, {**self.defaults, **stronger.defaults})


class RoleList:
    """The roles a play names, dependencies first."""

    def __init__(self, around: Surroundings, done: list[RoleMention] | None = None) -> None:
        self.around = around
        self.roles: list[Role] = []
        self.nodes: list[Node] = []
        self.handlers: list[Node] = []
        self.done = [] if done is None else done

    def add(
        self,
        entry: Any,
        place: Place,
        outer: Surroundings | None = None,
        chain: tuple[str, ...] = (),
        parts: Mapping[str, str] | None = None,
        by_task: tuple[Mapping[str, Any], ...] | None = None,
        again: bool = False,
        included: bool = False,
    ) -> _Given:
        """Returns what a role that depends on this one sees of it and its dependencies. `by_task`
        are the variables at an include or import, whose `again` is asked in place of the role's
        own `allow_duplicates`."""
        around = outer or self.around
        name, params, keywords = _role_entry(entry, place, around)
        place = entry.place() if isinstance(entry, Located) else place
        if name in chain:
            raise BadInput(
                f"roles depend on each other in a circle: {' -> '.join([*chain, name])}", place
            )
        role = load_role(name, params, place, around, parts)
        meta = read_meta(role)
        if by_task is None:
            again = as_bool(meta.get("allow_duplicates", False))
        mention = RoleMention(
            role.path,
            params,
            keywords.when,
            keywords.tags,
            by_task or keywords.vars,
            parts or {},
            by_task is not None,
        )
        inside = replace(
            around,
            keywords=keywords.under(around.keywords),
            collections=(*own_collection(role.path), *task_keywords.read_collections(meta)),
        )
        dependencies = meta.get("dependencies") or []
        if not isinstance(dependencies, list):
            raise BadInput("dependencies is a list of roles", meta.place("dependencies"))
        below = _Given({}, {})
        for dependency in dependencies:
            below = below.under(
                self.add(
                    dependency,
                    meta.place("dependencies"),
                    replace(inside, role=role),
                    (*chain, name),
                )
            )
        role = replace(
            role,
            inherited={**role.inherited, **below.vars},
            inherited_defaults={**below.defaults, **role.inherited_defaults},
            mention=mention,
        )
        tasks_from = (parts or {}).get("tasks_from", "main")
        body: tuple[Node, ...] = ()
        if (parts or {}).get("rolespec_validate") != "False":
            body = tuple(validation(role, tasks_from, replace(inside, role=role)))
        body += role_nodes(role, place, inside, tasks_from)
        self.nodes.append(RoleBlock(mention, body, once=not again))
        if mention not in self.done or again:
            self.roles.append(role)
            self.handlers += role_handlers(role, inside, (parts or {}).get("handlers_from", "main"))
        if not included:  # an include counts for itself
            self.done.append(mention)
        return below.under(_Given(role.vars, role.defaults))


def import_role(given: Mapping[str, Any], place: Place, around: Surroundings) -> tuple[Node, ...]:
    """The steps of a role where a task names it; its handlers and variables belong to the whole
    play."""
    written = given.get("allow_duplicates", True)
    again = as_bool(rendered_at_load(written, "allow_duplicates", place, around))
    role_list = RoleList(around, around.imported.done if around.imported else None)
    role_list.add(
        str(given["name"]),
        place,
        parts=role_parts(given),
        by_task=around.keywords.vars,
        again=again,
    )
    if around.imported is not None:
        public = as_bool(given["public"]) if "public" in given else None
        around.imported.roles.extend(replace(role, public=public) for role in role_list.roles)
        around.imported.handlers.extend(role_list.handlers)
    return tuple(role_list.nodes)


def role_parts(given: Mapping[str, Any]) -> dict[str, str]:
    """Which files of a role are asked for instead of main."""
    parts = ("tasks_from", "vars_from", "defaults_from", "handlers_from")
    for part in parts:
        if given.get(part) is not None and not isinstance(given[part], str):
            raise BadInput(
                f"Expected a string for {part} but got {type(given[part])} instead",
                given.place(part) if isinstance(given, Located) else Place(""),
            )
    checked = str(given.get("rolespec_validate", True)).lower() not in ("false", "no", "off", "0")
    return {
        **{part: str(given[part]) for part in parts if given.get(part)},
        "rolespec_validate": str(checked),
    }


def _role_entry(
    entry: Any, place: Place, around: Surroundings
) -> tuple[str, dict[str, Any], Keywords]:
    if isinstance(entry, str):
        if "," in entry:
            raise BadInput(f"Invalid old style role requirement: {entry}", place)
        name = str(rendered_at_load(entry, "the name of a role", place, around))
        return name, {}, Keywords()
    if not isinstance(entry, Located):
        raise BadInput(f'a role is a name or "- role: NAME", not {entry!r}', place)
    written = entry.get("role", entry.get("name"))
    if not isinstance(written, str) or not written:
        raise BadInput('this role has no name; write "- role: NAME"', entry.place())
    name = str(rendered_at_load(written, "the name of a role", entry.place(), around))
    params = {key: value for key, value in entry.items() if key not in _ROLE_KEYWORDS}
    for key, value in params.items():
        task_keywords.check_templates(value, entry.place(key))
    return name, params, task_keywords.read_keywords(entry)
