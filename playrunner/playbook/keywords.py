"""The keywords of plays, blocks and steps, and how a mapping's words become `Keywords`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.model import Keywords
from playrunner.playbook import action_groups
from playrunner.playbook.keyword_values import check
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import Located
from playrunner.text.variable_names import RULE, is_variable_name
from playrunner.text.written import is_template
from playrunner.variables.templating import default_templar

SHARED = frozenset(field.name for field in fields(Keywords))
PLAY = SHARED - {"delegate_to", "delegate_facts", "notify"} | {
    "name",
    "hosts",
    "roles",
    "vars_files",
    "vars_prompt",
    "pre_tasks",
    "tasks",
    "post_tasks",
    "handlers",
    "serial",
    "max_fail_percentage",
    "gather_facts",
    "gather_subset",
    "force_handlers",
    "strategy",
    "order",
    "collections",
}
BLOCK = SHARED | {"name", "block", "rescue", "always", "collections"}
STEP = SHARED | {
    "name",
    "action",
    "local_action",
    "args",
    "loop",
    "loop_control",
    "register",
    "until",
    "retries",
    "delay",
    "listen",
    "changed_when",
    "failed_when",
    "async",
    "poll",
    "keep",
    "collections",
}
# What an include takes for itself; what its tasks inherit is named under its "apply".
INCLUDE = frozenset(
    {
        "action",
        "args",
        "collections",
        "ignore_errors",
        "loop",
        "loop_control",
        "name",
        "no_log",
        "register",
        "run_once",
        "tags",
        "timeout",
        "vars",
        "when",
    }
)
# Keywords of Ansible that are refused with a reason, not ignored.
REFUSED = {
    "gather_timeout": (
        "facts are gathered without calling other programs; give the play's steps a timeout instead"
    ),
    "debugger": "there is no step debugger; use --verbose, or --start-at-task to go on from a step",
    "become_pass": (
        "passwords are not written in playbooks; set PLAYRUNNER_BECOME_PASSWORD or answer the"
        " prompt"
    ),
    "fact_path": "local facts are read from /etc/ansible/facts.d only",
}
_CONDITIONS = ("when", "until", "changed_when", "failed_when")


def refuse_unknown(entry: Located, keywords: frozenset[str], what: str) -> None:
    """Complain about the first word that is not a keyword here."""
    for word in entry:
        if asks_for_no_debugger(word, entry[word]):
            continue
        if word in REFUSED:
            raise BadInput(f'"{word}" is not supported: {REFUSED[word]}', entry.place(word))
        if word not in keywords and not str(word).startswith("with_"):
            hint = did_you_mean(word, keywords)
            kind = what.rpartition(" ")[2].capitalize()
            raise BadInput(
                f"{word!r} is not a valid attribute for a {kind}{hint}", entry.place(word)
            )


def asks_for_no_debugger(word: str, value: Any) -> bool:
    return word == "debugger" and value in (None, "never")


def refuse_at_include(task: Located, word: str, handlers: bool) -> None:
    """Complain about the first keyword that an include does not take."""
    known = {word, *INCLUDE, *(("listen",) if handlers else ())}
    for keyword in task:
        if asks_for_no_debugger(keyword, task[keyword]):
            continue
        if keyword not in known and not str(keyword).startswith("with_"):
            kind = "IncludeRole" if "role" in word else "TaskInclude"
            kind = f"Handler{kind}" if handlers and kind == "TaskInclude" else kind
            hint = '; name it under "apply"' if keyword in BLOCK else ""
            raise BadInput(
                f"{keyword!r} is not a valid attribute for a {kind}{hint}", task.place(keyword)
            )


def read_keywords(entry: Located) -> Keywords:
    check(entry)
    values: dict[str, Any] = {name: entry[name] for name in SHARED if name in entry}
    values["when"] = conditions(entry, "when")
    values["tags"] = frozenset(read_tags(entry))
    values["vars"] = (read_vars(entry),) if entry.get("vars") else ()
    values["environment"] = _environment(entry)
    defaults = entry.get("module_defaults")
    if defaults is not None and not isinstance(defaults, dict):
        raise BadInput(
            "module_defaults takes a mapping of module names to arguments",
            entry.place("module_defaults"),
        )
    if any(not isinstance(each, dict) for each in (defaults or {}).values()):
        raise BadInput(
            "each module of module_defaults takes a mapping of arguments",
            entry.place("module_defaults"),
        )
    for name in defaults or ():
        if str(name).startswith("group/") and not action_groups.is_known(str(name)):
            group = str(name).removeprefix("group/")
            raise BadInput(
                f"could not resolve the module_defaults group {group}; install its collection, or"
                " name the modules",
                entry.place("module_defaults"),
            )
    values["module_defaults"] = (defaults,) if defaults else ()
    for word in _CONDITIONS:
        check_conditions(entry, word)
    return Keywords(**values)


def read_usable(task: Located) -> tuple[Located, Keywords, BadInput | None]:
    """The task without the keywords that cannot be used, its keywords, and what is wrong with the
    first of those left out."""
    try:
        return task, read_keywords(task), None
    except BadInput as error:
        problem = error
    kept = task.with_items({word: value for word, value in task.items() if _usable(task, word)})
    return kept, read_keywords(kept), problem


def _usable(task: Located, word: str) -> bool:
    try:
        read_keywords(task.with_items({word: task[word]}))
    except BadInput:
        return False
    return True


def read_collections(entry: Located) -> tuple[str, ...]:
    """The collections in which short names of modules are looked for."""
    names = as_list(entry.get("collections"))
    for name in names:
        if not isinstance(name, str) or is_template(name):
            raise BadInput(
                "collections takes plain names such as community.general",
                entry.place("collections"),
            )
    return tuple(map(str, names))


def _environment(entry: Located) -> tuple[Any, ...]:
    layers = tuple(as_list(entry.get("environment")))
    for layer in layers:
        if not isinstance(layer, dict) and not is_template(layer):
            raise BadInput(
                f"environment takes a mapping of names to values, not {layer!r}",
                entry.place("environment"),
            )
    return layers


def read_tags(entry: Located) -> list[str]:
    tags: list[str] = []
    for tag in as_list(entry.get("tags")):
        if isinstance(tag, (dict, list)):
            raise BadInput("a tag is a plain word", entry.place("tags"))
        tags += [tag] if is_template(tag) else [part.strip() for part in str(tag).split(",")]
    return tags


def read_vars(entry: Located, word: str = "vars") -> dict[str, Any]:
    value = entry.get(word) or {}
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return {key: inner for item in value for key, inner in item.items()}
    if not isinstance(value, dict):
        raise BadInput(f"{word} takes a mapping of names to values", entry.place(word))
    for name, inner in value.items():
        if not is_variable_name(name):
            raise BadInput(
                f'"{name}" cannot be a variable name: {RULE}',
                value.place(name) if isinstance(value, Located) else entry.place(word),
            )
        check_templates(
            inner, value.place(name) if isinstance(value, Located) else entry.place(word)
        )
    return value


def conditions(entry: Located, word: str) -> tuple[Any, ...]:
    value = entry.get(word)
    if value is None and word in entry:
        raise BadInput(f"{word} is empty; remove it, or give an expression", entry.place(word))
    return tuple(as_list(value))


def check_conditions(entry: Located, word: str) -> None:
    for condition in as_list(entry.get(word)):
        if isinstance(condition, (dict, list)):
            raise BadInput(
                f"{word} takes an expression, or a list of expressions", entry.place(word)
            )
        if isinstance(condition, str):
            problem = default_templar.check_expression(condition)
            if problem:
                raise BadInput(f"{word}: {problem} in: {condition}", entry.place(word))


def check_templates(value: Any, place: Place) -> None:
    """Find template syntax errors and unknown filters anywhere in a value."""
    if isinstance(value, str):
        if is_template(value):
            problem = default_templar.check_syntax(value)
            if problem:
                raise BadInput(f"{problem} in: {value.strip().splitlines()[0][:100]}", place)
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_templates(inner, value.place(key) if isinstance(value, Located) else place)
    elif isinstance(value, list):
        for inner in value:
            check_templates(inner, place)


def circle(chain: tuple[Path, ...], again: Path) -> str:
    """The files from where a circle begins to where it closes."""
    files = [*chain[chain.index(again.resolve()) :], again.resolve()]
    here = Path.cwd()
    return " -> ".join(
        str(file.relative_to(here) if file.is_relative_to(here) else file) for file in files
    )


def as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
