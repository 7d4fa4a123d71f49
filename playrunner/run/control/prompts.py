"""vars_prompt: variables of a play that the user is asked for when it starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from playrunner.errors import BadInput
from playrunner.model import Play
from playrunner.output.report import Report
from playrunner.playbook.arguments import as_bool
from playrunner.text.written import Written, written
from playrunner.variables.scope import Scope

NOT_ASKED = "Not prompting as we are not in interactive mode"


def answers(play: Play, scope: Scope, report: Report) -> dict[str, Any]:
    """The answers by variable, without those that --extra-vars gives."""
    values = {}
    for asked in play.vars_prompt:
        prompt = {key: _rendered(value, scope) for key, value in asked.items()}
        name = str(prompt["name"])
        if name not in scope.run_vars.extra:
            text = _answer(name, prompt, report)
            if prompt.get("encrypt"):
                text = _encrypted(text, prompt)
            values[name] = Written(text) if as_bool(prompt.get("unsafe", False)) else written(text)
    return values


def _rendered(value: Any, scope: Scope) -> Any:
    return scope.run_vars.templar.render(value, scope)


def _answer(name: str, prompt: Mapping[str, Any], report: Report) -> str:
    default, echo = prompt.get("default"), not as_bool(prompt.get("private", True))
    question = str(prompt.get("prompt") or name)
    if default is not None:
        if not sys.stdin.isatty():  # Ansible takes the default, too
            report.warn_once(NOT_ASKED)
            return str(default)
        question = f"{question} [{default}]"
    twice = as_bool(prompt.get("confirm", False))
    while True:
        text = report.ask(question, echo)
        if not twice or report.ask(f"confirm {question}", echo) == text:
            return text or ("" if default is None else str(default))
        report.print_note("***** VALUES ENTERED DO NOT MATCH ****")


def _encrypted(text: str, prompt: Mapping[str, Any]) -> str:
    kind, salt, size = prompt["encrypt"], prompt.get("salt"), prompt.get("salt_size")
    try:
        from playrunner.variables.filters.hashing import password_hash

        return password_hash(
            text,
            str(kind).removesuffix("_crypt"),
            None if salt is None else str(salt),
            None if size is None else int(size),
        )
    except ValueError as error:
        raise BadInput(f"vars_prompt {prompt['name']}: {error}") from None
