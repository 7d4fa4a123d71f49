"""A step whose module has an action plugin of Ansible's kind: the plugin runs here, what it asks
for runs on the host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.hostside.external_result import normalized
from playrunner.playbook import external_modules
from playrunner.plugins.action_bridge import Host, Task, run_action
from playrunner.run.external.external_request import described_module, rendered_arguments
from playrunner.run.host_request import HostRequests
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.run.run_state import RunState
from playrunner.run.whole_arguments import with_whole_arguments
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.variables.lookups.external import RenderedAlready, ScopeVariables


def run_action_step(
    inflight: InFlightStep,
    item: LoopItem,
    shared: RunState,
    requests: HostRequests,
    dispatcher: AgentDispatcher,
) -> dict[str, Any]:
    step, scope = inflight.step, item.scope
    key = requests.agent_key(step, scope)
    common = {**requests.request_of(inflight, scope, {}), "halt": False}
    common.pop("group", None)

    def on_host(module: str, arguments: dict[str, Any], request: Mapping[str, Any]) -> Any:
        return dispatcher.send(key, module, {**request, "args": arguments, "halt": False})

    def run_module(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        canonical = external_modules.without_action(name)
        if canonical is None:
            raise StepFailed(f'the action plugin of {step.module} names no module "{name}"')
        module = external_modules.module_file(canonical)
        described = described_module(module, dict(arguments), scope, shared)
        return dispatcher.wait(on_host(canonical, described, common))

    def run_shell(line: str, folder: str | None, text: str | None) -> dict[str, Any]:
        arguments = {"cmd": line, "chdir": folder, "stdin": text, "stdin_add_newline": False}
        given = {name: value for name, value in arguments.items() if value is not None}
        return dispatcher.wait(on_host("host.shell", given, {"live": False}))

    def put_file(source: str, target: str) -> None:
        upload = shared.uploads.of(Path(source))
        done = dispatcher.wait(on_host("host.copy", {"src": upload, "dest": target}, {}))
        if done.get("failed"):
            raise StepFailed(f"{source} could not be copied to {target}: {done.get('msg')}")

    def get_file(path: str) -> bytes:
        request = on_host("host.slurp", {"src": path}, {})
        values = dispatcher.wait(request)
        if values.get("failed"):
            raise StepFailed(f"{path} could not be read: {values.get('msg')}")
        import base64

        return request.body or base64.b64decode(values.get("content", ""))

    def find(folder: str, name: str) -> str:
        try:
            return str(scope.find(name, folder))
        except BadInput as error:
            raise StepFailed(error.message) from None

    variables = ScopeVariables(scope)
    task = Task(
        step.module,
        rendered_arguments(with_whole_arguments(step, scope) if step.whole else step, scope),
        requests.checks(step, scope),
        bool(common.get("diff")),
        inflight.hidden,
        str(step.directory),
        inflight.delegated_to or None,
    )
    host = Host(run_module, run_shell, put_file, get_file, find)
    return normalized(run_action(task, variables, RenderedAlready(variables), host))
