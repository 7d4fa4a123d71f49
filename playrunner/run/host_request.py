"""HostRequests: what an agent is asked to do: a step's rendered arguments, its files, and which
agent (host and become user) it goes to."""

from __future__ import annotations

import getpass
from functools import cache
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.hostside.module import Module
from playrunner.inventory.inventory import LOCALHOST_NAMES
from playrunner.model import Step
from playrunner.playbook import arguments, keyword_values, module_index
from playrunner.run.inflight import InFlightStep
from playrunner.run.run_state import RunState
from playrunner.ssh.agent_code import AgentKey
from playrunner.ssh.targets import Become, Target, target_of
from playrunner.text.written import authored
from playrunner.variables.host_memory import OMIT
from playrunner.variables.origins import keyword, setting
from playrunner.variables.scope import Scope, contains_template
from playrunner.variables.templating import MISSING

TEMPLATE_SETTINGS = (
    "trim_blocks",
    "lstrip_blocks",
    "newline_sequence",
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
)


class HostRequests:
    """Makes the requests of one host's steps."""

    def __init__(self, shared: RunState) -> None:
        self._shared = shared
        self._targets: dict[str, Target] = {}  # how each host is reached, found once per play

    def arguments_of(self, step: Step, scope: Scope) -> dict[str, Any]:
        """The arguments as the module takes them: rendered, converted to their types, without
        omitted ones, file names replaced by uploads."""
        if step.refusal and step.module not in ("play.include_tasks", "play.include_role"):
            raise StepFailed(step.refusal)
        cls, templar = module_index.module_class(step.module), scope.run_vars.templar
        render = _kept if cls.takes_any else templar.render
        values = {
            name: value if name in cls.raw else render(value, scope, keys=False)
            for name, value in step.arguments.items()
        }
        values = {
            name: without_omitted(value) for name, value in values.items() if value is not OMIT
        }
        if cls.takes_any:
            return {str(templar.render(name, scope)): value for name, value in values.items()}
        missing = [
            name
            for name, field in arguments.fields(cls).items()
            if field.required and name not in values
        ]
        if missing:
            raise StepFailed(f'{step.module} needs the argument "{missing[0]}"')
        converted = arguments.converted(cls, values, step.module, step.place, final=True)
        return self._with_files(cls, converted, step, scope)

    def request_of(
        self, inflight: InFlightStep, scope: Scope, rendered: dict[str, Any]
    ) -> dict[str, Any]:
        step, options = inflight.step, self._shared.options
        keywords = step.keywords
        request: dict[str, Any] = {
            "args": rendered,
            "halt": (
                not inflight.ignored
                and step.failed_when is None
                and step.until is None
                and step.retries is None
            ),
        }
        if self.checks(step, scope):
            request["check"] = True
        if options.rollback or (
            options.diff if keywords.diff is None else self.flag(keywords.diff, scope)
        ):
            request["diff"] = True
        if inflight.hidden:
            request["live"] = False
        if inflight.looped:
            request["group"] = id(inflight)
        environment = _environment(step, scope) if keywords.environment else {}
        if step.async_seconds or step.module == "host.async_status":
            folder = scope.lookup("ansible_async_dir")
            environment.update({} if folder is MISSING else {"PLAYRUNNER_ASYNC_DIR": str(folder)})
        if environment:
            request["env"] = environment
        if keywords.timeout:
            request["timeout"] = keyword_values.number(
                "timeout", keywords.timeout, scope, step.place
            )
        if step.async_seconds:
            request["async"] = keyword_values.whole("async", step.async_seconds, scope, step.place)
            if request["async"] <= 0 or request.get("check"):
                del request["async"]
        return request

    def agent_key(self, step: Step, scope: Scope) -> AgentKey:
        """The agent that runs the step: of the host or of the one it is delegated to, as the
        become user."""
        other = delegate(step, scope)
        return AgentKey(self._target(step, scope, other), self._become(step, scope, other))

    def flag(self, value: Any, scope: Scope) -> bool:
        """A keyword that means yes or no, perhaps through a template."""
        if value is None or isinstance(value, bool):
            return bool(value)
        rendered = scope.run_vars.templar.render(value, scope)
        try:
            return arguments.as_bool(rendered)
        except ValueError as error:
            raise StepFailed(f"a keyword of this step {error}") from None

    def checks(self, step: Step, scope: Scope) -> bool:
        own = step.keywords.check_mode
        return self._shared.options.check if own is None else self.flag(own, scope)

    def forget_targets(self) -> None:
        """A connection variable was set: find again how hosts are reached."""
        self._targets.clear()

    def _with_files(
        self, cls: type[Module], values: dict[str, Any], step: Step, scope: Scope
    ) -> dict[str, Any]:
        uploads = self._shared.uploads
        if cls.renders:
            path = scope.find(values["src"], "templates")
            settings = {
                name: values[name] for name in TEMPLATE_SETTINGS if values.get(name) is not None
            }
            inner = scope.inner(_template_names(path))
            text = self._shared.text_of(path)
            values["content"] = scope.run_vars.templar.render_file(
                text, inner, name=str(path), **settings
            )
        elif cls.ships and values.get(cls.ships) is not None and not values.get("remote_src"):
            name = str(values[cls.ships])
            if step.module == "host.script":
                from playrunner.playbook.freeform import unquoted, words

                first = words(name)[:1]
                if not first:
                    raise StepFailed("script needs the name of a file on this machine")
                values["script"] = uploads.of(scope.find(unquoted(first[0][0]), "files"))
            elif "://" not in name:
                values[cls.ships] = uploads.of(
                    scope.find(name, "files"), name.endswith("/"), values.get("decrypt") is False
                )
        return values

    def _target(self, step: Step, scope: Scope, other: str | None) -> Target:
        name = other or scope.host
        special = any(key.startswith("ansible_") for layer in step.keywords.vars for key in layer)
        if name not in self._targets or special:
            subject = scope if other is None else Scope(scope.run_vars, other, local=None)
            target = target_of(subject, words=step.keywords if other is None else None)
            if special:
                return target
            self._targets[name] = target
        return self._targets[name]

    def _become(self, step: Step, scope: Scope, other: str | None) -> Become | None:
        keywords = step.keywords
        subject = Scope(scope.run_vars, other) if other else scope

        def value_of(name: str, written: Any, default: str = "") -> Any:
            value = setting(subject, f"ansible_{name}")
            if value is MISSING or value is None:
                value = None if written is None else keyword(scope, f"ansible_{name}", written)
            return default if value is None or value is OMIT else value

        if not self.flag(value_of("become", keywords.become, ""), scope):
            return None
        password = str(
            value_of("become_password", None)
            or value_of("become_pass", None)
            or self._shared.options.become_password
        )
        method = str(value_of("become_method", keywords.become_method, "sudo")).rpartition(".")[2]
        if method not in ("sudo", "su"):
            raise BadInput(
                f'become_method cannot be "{method}"; it is sudo or su',
                subject.origin("ansible_become_method") or step.place,
            )
        return Become(
            str(value_of("become_user", keywords.become_user, "root")) or "root",
            method,
            str(value_of("become_flags", keywords.become_flags)),
            str(value_of("become_exe", keywords.become_exe)),
            password,
        )


def _kept(value: Any, scope: Scope, keys: bool) -> Any:
    """Render a value of set_fact; it counts as authored unless it read foreign values."""
    if not contains_template(value):
        return value
    traced = scope.traced()
    rendered = scope.run_vars.templar.render(value, traced, keys=keys)
    return rendered if traced.foreign else authored(rendered)


def delegate(step: Step, scope: Scope) -> str | None:
    written = step.keywords.delegate_to
    if written is None:
        return None
    rendered = scope.run_vars.templar.render(written, scope)
    if rendered is OMIT or rendered is None:
        return None
    if rendered not in LOCALHOST_NAMES or rendered in scope.run_vars.inventory.hosts:
        return str(rendered)
    traced = scope.traced()
    scope.run_vars.templar.render(written, traced)
    if traced.foreign:
        raise BadInput(
            f'delegate_to resolves to this machine through "{traced.foreign[0]}", which does not'
            " come from the playbook or inventory; write localhost itself",
            step.place,
        )
    return "localhost"


def without_omitted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_omitted(inner) for key, inner in value.items() if inner is not OMIT}
    if isinstance(value, list):
        return [without_omitted(inner) for inner in value if inner is not OMIT]
    return value


@cache
def _template_names(path: Path) -> dict[str, Any]:
    """The variables that describe the template file itself."""
    import os

    return {
        "template_path": str(path),
        "template_fullpath": str(path.absolute()),
        "template_host": os.uname().nodename,
        "template_uid": getpass.getuser(),
        "template_destpath": None,
        "template_mtime": path.stat().st_mtime,
        "template_run_date": None,
        "ansible_managed": "Ansible managed",
    }


def _environment(step: Step, scope: Scope) -> dict[str, str]:
    environment: dict[str, str] = {}
    for layer in step.keywords.environment:
        rendered = scope.run_vars.templar.render(layer, scope)
        for part in rendered if isinstance(rendered, list) else [rendered]:
            if part is OMIT:
                continue
            if not isinstance(part, dict):
                raise BadInput(
                    f"environment takes a mapping of names to values, not {part!r}", step.place
                )
            environment.update(
                {str(name): str(value) for name, value in part.items() if value is not OMIT}
            )
    return environment
