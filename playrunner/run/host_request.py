"""HostRequests: what an agent is asked to do: a step's rendered arguments, its files, and which
agent (host and become user) it goes to."""

from __future__ import annotations

from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, StepFailed, UndefinedVariable
from playrunner.hostside.module import Module
from playrunner.inventory.inventory import LOCALHOST_NAMES
from playrunner.model import Step
from playrunner.playbook import arguments, external_modules, keyword_values, module_index
from playrunner.run.external.external_request import external_arguments
from playrunner.run.gathering import refuse_other_modules
from playrunner.run.inflight import InFlightStep
from playrunner.run.manager_variables import MANAGER_VARIABLES, take_manager
from playrunner.run.rendered_arguments import rendered_arguments
from playrunner.run.run_state import RunState
from playrunner.run.whole_arguments import with_whole_arguments
from playrunner.ssh.agent_code import AgentKey
from playrunner.ssh.become_prompt import is_logged_in, su_prompts
from playrunner.ssh.targets import (
    BECOME_METHODS,
    Become,
    Target,
    refused_method,
    target_of,
)
from playrunner.text.written import DecryptedText
from playrunner.variables.host_memory import OMIT
from playrunner.variables.keyword_text import rendered_keyword
from playrunner.variables.origins import keyword, setting
from playrunner.variables.scope import Scope
from playrunner.variables.template_names import template_names
from playrunner.variables.templating import MISSING
from playrunner.vault.envelope import is_encrypted

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
        self._task_timeout = ansible_config().get("task_timeout")

    def arguments_of(self, step: Step, scope: Scope) -> dict[str, Any]:
        """The arguments as the module takes them: rendered, converted to their types, without
        omitted ones, file names replaced by uploads."""
        if step.whole:
            step = with_whole_arguments(step, scope)
        if external_modules.is_external(step.module):
            return external_arguments(step, scope, self._shared)
        cls, templar = module_index.module_class(step.module), scope.run_vars.templar
        values = rendered_arguments(step, cls, scope)
        if cls.takes_any:
            return {str(templar.render(name, scope)): value for name, value in values.items()}
        if step.module in MANAGER_VARIABLES:
            take_manager(values, step.module, scope)
        missing = [name for name in arguments.required(cls) if name not in values]
        if missing:
            raise StepFailed(arguments.missing_text(missing, cls))
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
        refuse_other_modules(step, scope)
        if self.checks(step, scope):
            request["check"] = True
        diff = rendered_keyword(keywords.diff, scope)
        if options.rollback or (options.diff if diff is None else self.flag(diff, scope)):
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
        limit = rendered_keyword(keywords.timeout, scope)
        limit = limit if limit is not None else self._task_timeout
        if limit:
            request["timeout"] = keyword_values.number("timeout", limit, scope, step.place)
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
        rendered = rendered_keyword(value, scope)
        try:
            return rendered is not None and arguments.as_bool(rendered)
        except ValueError as error:
            raise StepFailed(f"a keyword of this step {error}") from None

    def checks(self, step: Step, scope: Scope) -> bool:
        own = rendered_keyword(step.keywords.check_mode, scope)
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
            if values.get("mode") == "preserve":
                values["mode"] = f"{path.stat().st_mode & 0o7777:04o}"
            settings = {
                name: values[name] for name in TEMPLATE_SETTINGS if values.get(name) is not None
            }
            managed = scope.given("ansible_managed") is not MISSING
            names = template_names(path, str(values["src"]), str(values["dest"]), managed)
            inner = scope.inner(names)
            text = self._shared.text_of(path)
            content = scope.run_vars.templar.render_file(text, inner, name=str(path), **settings)
            values["content"] = DecryptedText(content, "") if is_encrypted(text) else content
        elif cls.ships and values.get(cls.ships) and not _is_on_host(values):
            name = str(values[cls.ships])
            if step.module == "host.script":
                from playrunner.playbook.freeform import unquoted, words

                first = words(name)[:1]
                if not first:
                    raise StepFailed("script needs the name of a file on this machine")
                values["script"] = uploads.of(
                    scope.find(unquoted(first[0][0]), "files"),
                    encrypted=values.get("decrypt") is False,
                )
            elif "://" not in name:
                values[cls.ships] = uploads.of(
                    scope.find(name, "files"),
                    name.endswith("/"),
                    values.get("decrypt") is False,
                    values.get("local_follow") is not False,
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

        def value_of(name: str, written: Any, default: str = "", method: str = "") -> Any:
            # ansible_sudo_exe and its like win over ansible_become_exe
            own = name.replace("become", method) if method else name
            for variable in dict.fromkeys((own, name)):
                value = setting(subject, f"ansible_{variable}")
                if value is not MISSING and value is not None:
                    break
            else:
                value = None if written is None else keyword(scope, f"ansible_{name}", written)
                value = ansible_config().get(name) if value is None else value
            return default if value is None or value is OMIT else value

        if not self.flag(value_of("become", keywords.become, ""), scope):
            return None
        method = str(value_of("become_method", keywords.become_method, "sudo")).rpartition(".")[2]
        if method not in BECOME_METHODS:
            raise BadInput(
                refused_method(method), subject.origin("ansible_become_method") or step.place
            )
        user = str(value_of("become_user", keywords.become_user, "root", method)) or "root"
        if is_logged_in(self._target(step, scope, other), user):
            return None
        password = str(
            value_of("become_pass", None, method=method)
            or value_of("become_password", None)
            or self._shared.options.become_password
        )
        return Become(
            user,
            method,
            str(value_of("become_flags", keywords.become_flags, "", method)),
            str(value_of("become_exe", keywords.become_exe, "", method)),
            password,
            str(value_of("sudo_chdir", None)) if method == "sudo" else "",
            su_prompts(value_of("su_prompt_l10n", None)) if method == "su" else (),
        )


def delegate(step: Step, scope: Scope) -> str | None:
    written = step.keywords.delegate_to
    if written is None:
        return None
    rendered = rendered_keyword(written, scope)
    if rendered is None:
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


def _without_facts(layer: dict[Any, Any], scope: Scope) -> dict[Any, Any]:
    """An environment without the entries that need the facts which are being gathered."""
    kept = {}
    for name, value in layer.items():
        try:
            kept[name] = scope.run_vars.templar.render(value, scope)
        except UndefinedVariable as error:
            if error.name != "ansible_env" and "ansible_facts" not in str(value):
                raise
    return kept


def _environment(step: Step, scope: Scope) -> dict[str, str]:
    environment: dict[str, str] = {}
    for layer in step.keywords.environment:
        if step.module == "host.setup" and isinstance(layer, dict):
            layer = _without_facts(layer, scope)
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


def _is_on_host(values: dict[str, Any]) -> bool:
    """Whether the file to use is on the host already; `copy: false` is the older way to say it."""
    return bool(values.get("remote_src")) or values.get("copy") is False
