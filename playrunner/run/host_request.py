"""What a host is asked to do: a step's arguments rendered, its files shipped, and who does it
where."""

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
from playrunner.run.inflight import Flight
from playrunner.run.run_state import Shared
from playrunner.ssh.agent_code import Seat
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


class Requests:
    """Makes one strand's requests."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._targets: dict[str, Target] = {}  # how each host is reached, worked out once a play

    def arguments_of(self, step: Step, scope: Scope) -> dict[str, Any]:
        """The arguments as the module takes them: rendered, omitted ones gone, in their types,
        files in place of names."""
        cls, templar = module_index.module_class(step.module), scope.world.templar
        render = _kept if cls.takes_any else templar.render
        given = {
            name: value if name in cls.raw else render(value, scope, keys=False)
            for name, value in step.arguments.items()
        }
        given = {name: without_omitted(value) for name, value in given.items() if value is not OMIT}
        if cls.takes_any:
            return {str(templar.render(name, scope)): value for name, value in given.items()}
        missing = [
            name
            for name, field in arguments.fields(cls).items()
            if field.required and name not in given
        ]
        if missing:
            raise StepFailed(f'{step.module} needs the argument "{missing[0]}"')
        converted = arguments.converted(cls, given, step.module, step.place, final=True)
        return self._shipped(cls, converted, step, scope)

    def request_of(self, flight: Flight, scope: Scope, given: dict[str, Any]) -> dict[str, Any]:
        step, options = flight.step, self._shared.options
        words = step.keywords
        request: dict[str, Any] = {
            "args": given,
            "halt": (
                not flight.ignored
                and step.failed_when is None
                and step.until is None
                and step.retries is None
            ),
        }
        if self.checks(step, scope):
            request["check"] = True
        if options.rollback or (
            options.diff if words.diff is None else self.flag(words.diff, scope)
        ):
            request["diff"] = True
        if flight.hidden:
            request["live"] = False
        if flight.looped:
            request["group"] = id(flight)
        environment = _environment(step, scope) if words.environment else {}
        if step.async_seconds or step.module == "host.async_status":
            folder = scope.lookup("ansible_async_dir")
            environment.update({} if folder is MISSING else {"PLAYRUNNER_ASYNC_DIR": str(folder)})
        if environment:
            request["env"] = environment
        if words.timeout:
            request["timeout"] = keyword_values.number("timeout", words.timeout, scope, step.place)
        if step.async_seconds:
            request["async"] = keyword_values.whole("async", step.async_seconds, scope, step.place)
            if request["async"] <= 0 or request.get("check"):
                del request["async"]
        return request

    def seat_of(self, step: Step, scope: Scope) -> Seat:
        """Which agent does the step: the host's own or the one it is delegated to, as the user it
        becomes."""
        other = delegate(step, scope)
        return Seat(self._target(step, scope, other), self._become(step, scope, other))

    def flag(self, value: Any, scope: Scope) -> bool:
        """A keyword that means yes or no, perhaps through a template."""
        if value is None or isinstance(value, bool):
            return bool(value)
        rendered = scope.world.templar.render(value, scope)
        try:
            return arguments.as_bool(rendered)
        except ValueError as error:
            raise StepFailed(f"a keyword of this step {error}") from None

    def checks(self, step: Step, scope: Scope) -> bool:
        own = step.keywords.check_mode
        return self._shared.options.check if own is None else self.flag(own, scope)

    def forget_targets(self) -> None:
        """A connection variable was set: how hosts are reached is worked out anew."""
        self._targets.clear()

    def _shipped(
        self, cls: type[Module], given: dict[str, Any], step: Step, scope: Scope
    ) -> dict[str, Any]:
        shipments = self._shared.shipments
        if cls.renders:
            path = scope.find(given["src"], "templates")
            settings = {
                name: given[name] for name in TEMPLATE_SETTINGS if given.get(name) is not None
            }
            inner = scope.inner(_template_names(path))
            text = self._shared.text_of(path)
            given["content"] = scope.world.templar.render_file(
                text, inner, name=str(path), **settings
            )
        elif cls.ships and given.get(cls.ships) is not None and not given.get("remote_src"):
            name = str(given[cls.ships])
            if step.module == "host.script":
                from playrunner.playbook.freeform import unquoted, words

                first = words(name)[:1]
                if not first:
                    raise StepFailed("script needs the name of a file on this machine")
                given["script"] = shipments.of(scope.find(unquoted(first[0][0]), "files"))
            elif "://" not in name:
                given[cls.ships] = shipments.of(
                    scope.find(name, "files"), name.endswith("/"), given.get("decrypt") is False
                )
        return given

    def _target(self, step: Step, scope: Scope, other: str | None) -> Target:
        name = other or scope.host
        special = any(key.startswith("ansible_") for layer in step.keywords.vars for key in layer)
        if name not in self._targets or special:
            subject = scope if other is None else Scope(scope.world, other, local=None)
            target = target_of(subject, words=step.keywords if other is None else None)
            if special:
                return target
            self._targets[name] = target
        return self._targets[name]

    def _become(self, step: Step, scope: Scope, other: str | None) -> Become | None:
        words = step.keywords
        subject = Scope(scope.world, other) if other else scope

        def value(name: str, written: Any, default: str = "") -> Any:
            found = setting(subject, f"ansible_{name}")
            if found is MISSING or found is None:
                found = None if written is None else keyword(scope, f"ansible_{name}", written)
            return default if found is None or found is OMIT else found

        if not self.flag(value("become", words.become, ""), scope):
            return None
        password = str(
            value("become_password", None)
            or value("become_pass", None)
            or self._shared.options.become_password
        )
        method = str(value("become_method", words.become_method, "sudo")).rpartition(".")[2]
        if method not in ("sudo", "su"):
            raise BadInput(
                f'become_method cannot be "{method}"; it is sudo or su',
                subject.origin("ansible_become_method") or step.place,
            )
        return Become(
            str(value("become_user", words.become_user, "root")) or "root",
            method,
            str(value("become_flags", words.become_flags)),
            str(value("become_exe", words.become_exe)),
            password,
        )


def _kept(value: Any, scope: Scope, keys: bool) -> Any:
    """A value that becomes a variable; it stays the author's when nothing else was read to make it."""
    if not contains_template(value):
        return value
    traced = scope.traced()
    rendered = scope.world.templar.render(value, traced, keys=keys)
    return rendered if traced.foreign else authored(rendered)


def delegate(step: Step, scope: Scope) -> str | None:
    written = step.keywords.delegate_to
    if written is None:
        return None
    rendered = scope.world.templar.render(written, scope)
    if rendered is OMIT or rendered is None:
        return None
    if rendered not in LOCALHOST_NAMES or rendered in scope.world.inventory.hosts:
        return str(rendered)
    traced = scope.traced()
    scope.world.templar.render(written, traced)
    if traced.foreign:
        raise BadInput(
            f'delegate_to names this machine by "{traced.foreign[0]}", which no playbook or'
            " inventory wrote; write localhost itself",
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
    """What a template can say about itself."""
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
    found: dict[str, str] = {}
    for layer in step.keywords.environment:
        rendered = scope.world.templar.render(layer, scope)
        for part in rendered if isinstance(rendered, list) else [rendered]:
            if part is OMIT:
                continue
            if not isinstance(part, dict):
                raise BadInput(
                    f"environment takes a mapping of names to values, not {part!r}", step.place
                )
            found.update(
                {str(name): str(value) for name, value in part.items() if value is not OMIT}
            )
    return found
