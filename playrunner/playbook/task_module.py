"""The module that a task names, and its raw arguments, in any of the forms a task may use."""

from __future__ import annotations

import re
from typing import Any

from playrunner.errors import BadArgument, BadInput, NotInstalled, Place
from playrunner.playbook import arguments, external_modules, module_index
from playrunner.playbook import keywords as task_keywords
from playrunner.playbook.freeform import (
    command_and_pairs,
    pairs_and_rest,
    without_continuations,
    words,
)
from playrunner.project import program
from playrunner.text.did_you_mean import nearest
from playrunner.text.documents import Located
from playrunner.text.written import all_written, is_template, written

WHOLE = "_variable_params"  # templates that give all arguments of a task
ACTIONS = ("action", "local_action")
_WHOLE_TEMPLATE = re.compile(r"\{\{(?:(?!\}\}).)*\}\}", re.DOTALL)


def module_of_task(task: Located, in_collections: tuple[str, ...] = ()) -> tuple[str, str]:
    """The word of a task that names its module, and the module's full name."""
    in_collections = task_keywords.read_collections(task) or in_collections
    candidates = [
        word
        for word in task
        if word not in task_keywords.STEP
        and not str(word).startswith("with_")
        and not task_keywords.asks_for_no_debugger(str(word), task[word])
    ]
    candidates += [word for word in ACTIONS if word in task]
    for word in candidates:
        if word in task_keywords.REFUSED:
            raise BadInput(
                f'"{word}" is not supported: {task_keywords.REFUSED[word]}', task.place(word)
            )
    named = [
        word
        for word in candidates
        if word in ACTIONS or module_index.canonical(str(word), in_collections)
    ]
    if len(named) > 1:
        raise BadInput(
            f'a task names one module; here are "{named[0]}" and "{named[1]}"', task.place(named[1])
        )
    strange = [word for word in candidates if word not in named]
    if strange:
        raise _unknown(str(strange[0]), bool(named), task.place(strange[0]))
    if not named:
        raise BadInput('this task names no module; add one, such as "command: ..."', task.place())
    word = named[0]
    if word in ACTIONS:
        name, _ = action_words(task[word])
        if is_template(name):
            return word, module_index.CHOSEN
        return word, module_named(name, in_collections, task.place(word))
    return word, module_index.canonical(word, in_collections) or ""


def module_named(name: str, in_collections: tuple[str, ...], place: Place) -> str:
    """The full name of a module that is named by `action`."""
    found = module_index.canonical(name, in_collections)
    if not found:
        raise _unknown(name, False, place)
    return found


def action_words(value: Any) -> tuple[str, str]:
    """The module that `action` names, and the rest of the line."""
    text = str((value.get("module") if isinstance(value, dict) else value) or "").strip()
    first = words(text)[:1]
    if not first:
        return "", ""
    name, _, end = first[0]
    return written(name), text[end:].strip()


def raw_arguments(task: Located, word: str, module: str) -> dict[str, Any]:
    """The raw arguments, wherever the task has them: after the module's name, in one line, or under
    `args`."""
    value, cls, place = task[word], module_index.module_class(module), task.place(word)
    strongest: Any = {}
    extra = task.get("args") or {}
    if isinstance(extra, str) and is_template(extra):
        extra = {WHOLE: (extra,)}
    if not isinstance(extra, dict):
        raise BadInput("args takes a mapping of arguments", task.place("args"))
    if word in ACTIONS:
        line = action_words(value)[1]
        if isinstance(value, dict):
            strongest = value.get("args") or {}
            others = {name: value[name] for name in value if name not in ("module", "args")}
            extra = {**extra, **others}
        value = line
    if isinstance(strongest, str) and is_template(strongest):
        extra = {**extra, WHOLE: (*extra.get(WHOLE, ()), strongest)}
        strongest = {}
    values = _values_of(value, cls, module, place)
    if extra or strongest:
        whole = (*extra.get(WHOLE, ()), *values.get(WHOLE, ()))
        values = {**extra, **values, **strongest, **({WHOLE: whole} if whole else {})}
    task_keywords.check_templates(values, place)
    return values


def _values_of(value: Any, cls: Any, module: str, place: Place) -> dict[str, Any]:
    if isinstance(value, str) and not cls.free_form and _WHOLE_TEMPLATE.fullmatch(value.strip()):
        return {WHOLE: (written(value.strip()),)}
    values = all_written(_one_line(value, cls, module, place)) if isinstance(value, str) else value
    if values is None:
        return {}
    if isinstance(values, list) and cls.free_form:
        return {cls.free_form: values}
    if not isinstance(values, dict):
        raise BadInput(f"{module} takes a mapping of arguments, not {values!r}", place)
    return values


def _unknown(word: str, has_module: bool, place: Place) -> BadInput:
    refusal = None if has_module else external_modules.refusal(word)
    return (
        NotInstalled(refusal, place)
        if refusal
        else BadInput(_unknown_word(word, has_module), place)
    )


def _unknown_word(word: str, has_module: bool) -> str:
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
        return _pairs(text, module, place)
    known = frozenset(arguments.fields(cls)) | frozenset(cls.aliases)
    if cls.free_form_only:
        return {cls.free_form: text.strip()}
    # Only commands may hold a word such as cmd=x that is not meant for the module.
    names = known if module.startswith("play.") else known - {cls.free_form}
    text = without_continuations(text)
    command, named = command_and_pairs(text, names)
    if module == "host.shell" and text.endswith("\n"):
        command += "\n"
    return {**({cls.free_form: command} if command else {}), **named}


def _pairs(text: str, module: str, place: Place) -> dict[str, Any]:
    """The name=value words of a line; a template among them gives further arguments."""
    named, rest = pairs_and_rest(text)
    if not rest:
        return named
    if is_template(written(rest)):
        return {**named, WHOLE: (written(rest),)}
    raise BadArgument(
        f"{module} takes name=value arguments; {rest.split()[0]!r} is neither",
        place,
        f"this task '{module.rpartition('.')[2]}' has extra params; the action"
        f" '{module.rpartition('.')[2]}' does not support raw params: {rest}",
    )
