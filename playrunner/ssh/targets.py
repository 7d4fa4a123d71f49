"""How to reach a host: its connection variables and the user's ssh configuration, as one value."""

from __future__ import annotations

import getpass
import os
import shlex
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from playrunner.errors import BadSetting, Place
from playrunner.frozen import frozen
from playrunner.project import program
from playrunner.ssh.config import config_path, configured
from playrunner.ssh.containers.settings import (
    CONTAINER_KINDS,
    ContainerSettings,
    container_settings,
)
from playrunner.ssh.host_settings import HostSettings
from playrunner.ssh.keys.hostkeys import SYSTEM_FILES, USER_FILES, label
from playrunner.ssh.options import Options
from playrunner.ssh.setting_value import SettingValue, filled
from playrunner.variables.origins import setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

CONNECTION_NAMES = (
    "ansible_connection",
    "ansible_host",
    "ansible_ssh_host",
    "ansible_port",
    "ansible_ssh_port",
    "ansible_user",
    "ansible_ssh_user",
    "ansible_python_interpreter",
)
MOST_HOPS = 8  # a longer chain of jump hosts is a loop
CONNECT_SECONDS = 10.0
CHECKING = ("yes", "no", "ask", "accept-new", "off", "true", "false")  # StrictHostKeyChecking


@frozen
class Target:
    """Everything needed to open a connection to one host."""

    name: str
    address: str
    kind: str = "ssh"  # or local, or one of CONTAINER_KINDS
    port: int = 22
    user: str = ""
    login: str = ""  # the user, where settings of the inventory or the play name one
    keys: tuple[str, ...] = ()
    password: str = field(default="", repr=False)
    known_hosts: tuple[str, ...] = (*USER_FILES, *SYSTEM_FILES)
    record_file: str = USER_FILES[0]  # where a new host's key is recorded; empty: nowhere
    host_key_name: str = ""  # looked up instead of the address (HostKeyAlias)
    checking: str = "yes"  # StrictHostKeyChecking
    identities_only: bool = False
    via: Target | None = None  # the jump host
    proxy_command: str = ""
    connect_seconds: float = 10
    alive_seconds: int = 30
    python: str = ""  # empty: found on the host
    container: ContainerSettings | None = None
    # The inventory's files, as named on the command line
    sources: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def known_names(self) -> tuple[str, ...]:
        """Its names in known_hosts; OpenSSH also accepts a key under the name without the port."""
        if self.host_key_name:
            return (self.host_key_name,)
        return tuple(dict.fromkeys((label(self.address, self.port), self.address)))

    @property
    def trust_command(self) -> str:
        return trust_command(self.name, self.sources)


def trust_command(host: str, sources: tuple[str, ...]) -> str:
    """The command that records a host's key."""
    return shlex.join(
        [
            program(),
            "hosts.trust",
            host,
            *(word for source in sources for word in ("--inventory", source)),
        ]
    )


@frozen
class Become:
    """The user that runs a step on the host, and how to become that user."""

    user: str = "root"
    method: str = "sudo"
    flags: str = ""
    exe: str = ""
    password: str = field(default="", repr=False, compare=False)
    chdir: str = ""  # where sudo is started
    prompts: tuple[str, ...] = ()  # how su asks for a password; empty: in any language known


BECOME_METHODS = ("sudo", "su", "doas")


def refused_method(method: str) -> str:
    """Why a become method cannot be used."""
    why = "; runas is for Windows hosts, which are not supported" if method == "runas" else ""
    return f'become_method cannot be "{method}"; it is {", ".join(BECOME_METHODS)}{why}'


def target_of(scope: Scope, chain: tuple[str, ...] = (), words: Any = None) -> Target:
    """How to reach the scope's host, from its variables, its play's keywords, and ~/.ssh/config."""
    host = scope.host
    if host in chain or len(chain) > MOST_HOPS:
        raise BadSetting(f"jump hosts form a loop: {' -> '.join([*chain, host])}")
    settings = HostSettings(scope, words)
    first, python = settings.first, settings.python()
    connection = settings.connection()
    kind = connection.text().rpartition(".")[2]
    if kind == "local":
        return Target(host, "localhost", "local", python=python)
    if kind in CONTAINER_KINDS:
        container = container_settings(kind, settings, scope)
        return Target(host, container.name, kind, python=python, container=container)
    if kind not in ("ssh", "paramiko", "paramiko_ssh", "smart"):
        connection.refuse(f"must be ssh, local, {', '.join(CONTAINER_KINDS)}")
    key_file = first(
        "ssh_private_key_file", "private_key_file", configured="private_key_file"
    ).text()
    user = first("ssh_user", "user", word="remote_user", configured="remote_user").user()
    base = Target(
        host,
        _address(first("ssh_host", "host"), scope),
        port=first("ssh_port", "port", word="port", configured="remote_port").port(),
        user=user,
        login=user,
        keys=(os.path.expanduser(key_file),) if key_file else (),
        password=first("ssh_password", "ssh_pass", "password").text(),
        connect_seconds=_seconds(
            first("ssh_timeout", "timeout", configured="timeout"), CONNECT_SECONDS
        ),
        python=python,
        sources=scope.run_vars.inventory.sources,
    )
    options = Options.read(
        first(name, configured=name) for name in ("ssh_common_args", "ssh_extra_args", "ssh_args")
    )
    if unchecked := settings.unchecked_host_key():
        options.settings.setdefault("stricthostkeychecking", unchecked)
    via = setting(scope, "via")
    through = SettingValue(
        "" if via is MISSING or via is None else via,
        f"host {host}: via",
        lambda: scope.origin("via"),
    )
    return _resolved(base, options, scope, (*chain, host), through)


def _address(setting: SettingValue, scope: Scope) -> str:
    """The host's address: ansible_host, or else its name."""
    if setting.value != "":
        return setting.address()
    source = scope.run_vars.inventory.host(scope.host).source
    return SettingValue(
        scope.host,
        f"host {scope.host!r}: its name, which is its address without ansible_host,",
        lambda: source,
    ).address()


def _seconds(setting: SettingValue, default: float) -> float:
    return default if setting.value in ("", None) else setting.seconds(default)


class _Settings:
    """The settings of one host from ssh's options and configuration file; the options win."""

    def __init__(self, base: Target, options: Options) -> None:
        self._name, self._options = base.name, options
        self._configured = configured(options.config_file, base.address)

    def __getitem__(self, name: str) -> SettingValue:
        """A setting by ssh's name for it; its value is empty when it is not set."""
        key = name.lower()
        if key in self._options.settings:
            return self._options.settings[key]
        configured_value = self._configured.get(key)
        return SettingValue(
            "" if configured_value is None else configured_value,
            f"host {self._name}: {name}",
            lambda: Place(config_path(self._options.config_file)),
        )

    def text(self, name: str, default: str = "") -> str:
        return self[name].text() or default

    def files(
        self, name: str, default: tuple[str, ...], tokens: Mapping[str, str]
    ) -> tuple[str, ...]:
        setting = self[name]
        if not setting.value:
            return default
        return tuple(filled(word, tokens) for word in setting.words() if word.lower() != "none")

    def keys(self) -> tuple[str, ...]:
        files = self["IdentityFile"].value
        listed = files if isinstance(files, list) else [files]
        return tuple(
            os.path.expanduser(str(key)) for key in listed if key and str(key).lower() != "none"
        )


def _resolved(
    base: Target, options: Options, scope: Scope, chain: tuple[str, ...], via: SettingValue
) -> Target:
    """The target with the settings of ssh's configuration; the inventory's come first."""
    settings = _Settings(base, options)
    address = settings["HostName"]
    checking = settings["StrictHostKeyChecking"]
    where = address.address() if address.value and address.value != base.address else base.address
    port = base.port or settings["Port"].port() or 22
    user = base.user or settings["User"].user() or getpass.getuser()
    tokens = {
        "%": "%",
        "h": where,
        "n": base.address,
        "p": str(port),
        "r": user,
        "d": os.path.expanduser("~"),
        "u": getpass.getuser(),
    }
    user_files = settings.files("UserKnownHostsFile", USER_FILES, tokens)
    target = replace(
        base,
        address=where,
        port=port,
        user=user,
        keys=base.keys or settings.keys(),
        known_hosts=(*user_files, *settings.files("GlobalKnownHostsFile", SYSTEM_FILES, tokens)),
        record_file=user_files[0] if user_files else "",
        host_key_name=settings.text("HostKeyAlias"),
        checking=checking.choice(*CHECKING) if checking.value else base.checking,
        identities_only=settings.text("IdentitiesOnly").lower() in ("yes", "true"),
        connect_seconds=_seconds(settings["ConnectTimeout"], base.connect_seconds),
        alive_seconds=int(_seconds(settings["ServerAliveInterval"], base.alive_seconds)),
    )
    if via.value:
        return replace(target, via=_jump(via, via.text(), scope, options, chain))
    jump = options.jump or settings["ProxyJump"]
    if jump.value and jump.text().lower() != "none":
        before: Target | None = None
        for hop in jump.text().split(","):
            here = _jump(jump, hop.strip(), scope, options, chain)
            before = replace(here, via=before) if before else here
        return replace(target, via=before)
    command = settings.text("ProxyCommand")
    if command and command.lower() != "none":
        return replace(target, proxy_command=filled(command, tokens))
    return target


def _jump(
    jump: SettingValue, name: str, scope: Scope, options: Options, chain: tuple[str, ...]
) -> Target:
    """A jump host: a host of the inventory, or an address as `ssh -J` takes it."""
    if len(chain) > MOST_HOPS or name in chain:
        raise BadSetting(f"jump hosts form a loop: {' -> '.join([*chain, name])}", jump.where())
    if name in scope.run_vars.inventory.hosts:
        return target_of(Scope(scope.run_vars, name), chain)

    def part(value: str, what: str) -> SettingValue:
        return SettingValue(
            value, f"{jump.called}: the {what} of the jump host {name!r}", jump.where
        )

    user, _, rest = name.removeprefix("ssh://").rpartition("@")
    address, port = rest, ""
    if rest.startswith("[") and "]" in rest:
        address, _, port = rest[1:].partition("]")
        port = port.removeprefix(":")
    elif rest.count(":") == 1:
        address, _, port = rest.partition(":")
    base = Target(
        name,
        part(address, "address").address(),
        port=part(port, "port").port(),
        user=part(user, "user").user(),
        sources=scope.run_vars.inventory.sources,
    )
    nothing = SettingValue("", "", jump.where)
    return _resolved(base, options.for_jump_host(), scope, (*chain, name), nothing)
