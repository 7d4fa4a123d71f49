"""The module that a task names, and its raw arguments, in any of the forms a task may use."""

from __future__ import annotations

import re
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.playbook import arguments, external_modules, module_index
from playrunner.playbook import keywords as task_keywords
from playrunner.playbook.freeform import command_and_pairs, pairs
from playrunner.project import program
from playrunner.text.did_you_mean import nearest
from playrunner.text.documents import Located
from playrunner.text.written import all_written, is_template, written

WHOLE = "_variable_params"  # templates that give all arguments of a task
_WHOLE_TEMPLATE = re.compile(r"\{\{(?:(?!\}\}).)*\}\}", re.DOTALL)


def module_of_task(task: Located, in_collections: tuple[str, ...] = ()) -> tuple[str, str]:
    """The word of a task that names its module, and the module's full name."""
    in_collections = task_keywords.read_collections(task) or in_collections
    candidates = [
        word
        for word in task
        if word not in task_keywords.STEP and not str(word).startswith("with_")
    ]
    for word in ("action", "local_action"):
        if word in task:
            candidates.append(word)
    for word in candidates:
        if word in task_keywords.REFUSED:
            raise BadInput(
                f'"{word}" is not supported: {task_keywords.REFUSED[word]}', task.place(word)
            )
    named = [
        word
        for word in candidates
        if word in ("action", "local_action") or module_index.canonical(str(word), in_collections)
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
        name = module_index.canonical(text, in_collections)
        if not name:
            raise BadInput(_unknown_word(text, False), task.place(word))
        return word, name
    return word, module_index.canonical(word, in_collections) or ""


def raw_arguments(task: Located, word: str, module: str) -> dict[str, Any]:
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
        extra = {WHOLE: (extra,)}
    if not isinstance(extra, dict):
        raise BadInput("args takes a mapping of arguments", task.place("args"))
    if isinstance(value, str) and not cls.free_form and _WHOLE_TEMPLATE.fullmatch(value.strip()):
        return {**extra, WHOLE: (*extra.get(WHOLE, ()), written(value.strip()))}
    values = all_written(_one_line(value, cls, module, place)) if isinstance(value, str) else value
    if values is None:
        values = {}
    if isinstance(values, list) and cls.free_form:
        values = {cls.free_form: values}
    if not isinstance(values, dict):
        raise BadInput(f"{module} takes a mapping of arguments, not {values!r}", place)
    if extra:
        values = {**extra, **values}
    task_keywords.check_templates(values, place)
    return values


def _unknown_word(word: str, has_module: bool) -> str:
    refusal = None if has_module else external_modules.refusal(word)
    if refusal:
        return refusal
    keyword = nearest(word, task_keywords.STEP, 0.7)
    module = module_index.nearest_module(word)
    if keyword and (has_module or not module):
        return f'a task has no keyword "{word}"; did you mean "{keyword}"?'
    if has_module:
        return f'a task has no keyword "{word}"'
    hint = (
        f'; did you mean "{module}"?'
        if module
        else f'; "{program()} modules.list" shows what there is'
    )
    return f'there is no module "{word}"{hint}'


def _one_line(text: str, cls: Any, module: str, place: Place) -> dict[str, Any]:
    if not cls.free_form:
        return pairs(text, module, place) if text.strip() else {}
    known = frozenset(arguments.fields(cls)) | frozenset(cls.aliases)
    if cls.free_form_only:
        return {cls.free_form: text.strip()}
    # Only commands may hold a word such as cmd=x that is not meant for the module.
    names = known if module.startswith("play.") else known - {cls.free_form}
    command, named = command_and_pairs(text, names)
    return {**({cls.free_form: command} if command else {}), **named}
