"""How to start programs in a container: the settings of the connections docker, podman and
kubectl."""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import Any

from playrunner.errors import BadSetting
from playrunner.frozen import frozen
from playrunner.ssh.host_settings import HostSettings
from playrunner.ssh.setting_value import SettingValue
from playrunner.variables.scope import Scope

CONTAINER_KINDS = ("docker", "podman", "kubectl")
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_YES = ("yes", "true", "1", "on", "y", "t")
# Settings of kubectl that a kubeconfig has in their place, since our own client reads it
_IN_THE_KUBECONFIG = (
    "ca_cert",
    "cert_file",
    "client_cert",
    "client_key",
    "extra_args",
    "host",
    "key_file",
    "password",
    "server",
    "ssl_ca_cert",
    "token",
    "api_key",
    "user",
    "username",
    "validate_certs",
    "verify_ssl",
)


@frozen
class ContainerSettings:
    """A container or pod, and how to reach it."""

    name: str  # the container; for kubectl the pod
    command: tuple[str, ...] = ()  # starts a program in it, which comes behind
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    namespace: str = ""  # of a pod; empty: the context's
    container: str = ""  # of a pod
    kubeconfig: str = ""
    context: str = ""
    sources: tuple[str, ...] = field(default=(), repr=False, compare=False)


def container_settings(kind: str, settings: HostSettings, scope: Scope) -> ContainerSettings:
    if kind == "kubectl":
        return _pod(settings, scope)
    name = _name(settings.first(f"{kind}_host", "host"), scope)
    user = settings.first(
        f"{kind}_user", "user", word="remote_user", configured="remote_user"
    ).user()
    program = os.path.expanduser(settings.first(f"{kind}_executable").text()) or kind
    command = [program, *settings.first(f"{kind}_extra_args").words(), "exec", "-i"]
    command += ["-u", user] if user else []
    environment = _environment(settings) if kind == "docker" else {}
    if kind == "docker":
        command += _docker_options(settings)
    # Their values go through this machine's environment: a command line is everyone's to read
    command += [word for variable in environment for word in ("-e", variable)]
    return ContainerSettings(name, (*command, name), tuple(environment.items()))


def _docker_options(settings: HostSettings) -> list[str]:
    folder = settings.first("docker_working_dir").text()
    privileged = str(settings.value("docker_privileged")).lower() in _YES
    return [*(["-w", folder] if folder else []), *(["--privileged"] if privileged else [])]


def _environment(settings: HostSettings) -> dict[str, str]:
    values = settings.value("docker_extra_env") or {}
    if not isinstance(values, dict):
        settings.variable("docker_extra_env").refuse("must be a mapping of names to values")
    return {str(name): str(value) for name, value in values.items()}


def _pod(settings: HostSettings, scope: Scope) -> ContainerSettings:
    for name in _IN_THE_KUBECONFIG:
        given = settings.variable(f"kubectl_{name}")
        if given.value != "":
            raise BadSetting(
                f"{given.called} has no effect, since no kubectl is run: put it into a kubeconfig,"
                " and name that in ansible_kubectl_kubeconfig",
                given.where(),
            )
    kubeconfig = _of_pod(settings, "KUBECONFIG", "kubectl_kubeconfig", "kubectl_config")
    return ContainerSettings(
        name=_object_name(settings, "POD", "kubectl_pod", scope.host),
        namespace=_object_name(settings, "NAMESPACE", "kubectl_namespace"),
        container=_object_name(settings, "CONTAINER", "kubectl_container"),
        kubeconfig=os.path.expanduser(kubeconfig),
        context=_of_pod(settings, "CONTEXT", "kubectl_context"),
        sources=scope.run_vars.inventory.sources,
    )


def _object_name(settings: HostSettings, variable: str, name: str, default: str = "") -> str:
    text = _of_pod(settings, variable, name) or default
    if text and not _OBJECT_NAME.fullmatch(text):
        settings.variable(name)._replace(value=text).refuse("must be a name that Kubernetes takes")
    return text


def _of_pod(settings: HostSettings, variable: str, *names: str) -> str:
    return settings.first(*names).text() or os.environ.get(f"K8S_AUTH_{variable}", "")


def _name(setting: SettingValue, scope: Scope) -> str:
    """The container: ansible_docker_host or ansible_host, or else the host's name. It must not be
    taken for an option."""
    if setting.value != "":
        return setting.address()
    source: Any = scope.run_vars.inventory.host(scope.host).source
    return SettingValue(
        scope.host, f"host {scope.host!r}: its name, which is its container's,", lambda: source
    ).address()
