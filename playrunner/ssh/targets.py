"""How a host is reached: its connection variables and the user's ssh configuration, as one value."""

from __future__ import annotations

import getpass
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from playrunner.errors import BadSetting, Place
from playrunner.ssh.config import config_path, configured
from playrunner.ssh.hostkeys import SYSTEM_FILES, USER_FILES, label
from playrunner.ssh.options import Options
from playrunner.ssh.setting_value import Given, filled
from playrunner.variables.origins import keyword, setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

CONNECTION_NAMES = (
    "ansible_connection",
    "ansible_host",
    "ansible_port",
    "ansible_user",
    "ansible_python_interpreter",
)
MOST_HOPS = 8  # a longer chain of jump hosts is a circle
CONNECT_SECONDS = 10.0
CHECKING = ("yes", "no", "ask", "accept-new", "off", "true", "false")  # StrictHostKeyChecking


@dataclass(frozen=True)
class Target:
    """Everything needed to open a connection to one host."""

    name: str
    address: str
    kind: str = "ssh"  # or local
    port: int = 22
    user: str = ""
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
    sources: tuple[str, ...] = field(
        default=(), repr=False, compare=False
    )  # the inventory, as it was named

    @property
    def known_names(self) -> tuple[str, ...]:
        """What it may be called in known_hosts; OpenSSH accepts a key under the name without the
        port too."""
        if self.host_key_name:
            return (self.host_key_name,)
        return tuple(dict.fromkeys((label(self.address, self.port), self.address)))

    @property
    def trust_command(self) -> str:
        return trust_command(self.name, self.sources)


def trust_command(host: str, sources: tuple[str, ...]) -> str:
    """What to type so that a host's key is recorded."""
    return shlex.join(
        [
            "invoke",
            "hosts.trust",
            host,
            *(word for source in sources for word in ("--inventory", source)),
        ]
    )


@dataclass(frozen=True)
class Become:
    """Who does a step on the host, and how they come to be it."""

    user: str = "root"
    method: str = "sudo"
    flags: str = ""
    exe: str = ""
    password: str = field(default="", repr=False, compare=False)


def target_of(scope: Scope, chain: tuple[str, ...] = (), words: Any = None) -> Target:
    """How to reach the scope's host, from its variables, its play's keywords, and ~/.ssh/config."""
    host = scope.host
    if host in chain or len(chain) > MOST_HOPS:
        raise BadSetting(f"jump hosts lead in a circle: {' -> '.join([*chain, host])}")

    def value(name: str, word: str = "", default: Any = "") -> Any:
        found = setting(scope, f"ansible_{name}")
        if found is MISSING and words is not None and word:
            found = getattr(words, word, None)
            found = MISSING if found is None else keyword(scope, f"ansible_{name}", found)
        return default if found is MISSING or found is None else found

    def given(name: str, word: str = "", default: Any = "") -> Given:
        return Given(
            value(name, word, default),
            f"host {host}: ansible_{name}",
            lambda: scope.origin(f"ansible_{name}"),
        )

    def first(*names: str, word: str = "") -> Given:
        """The first of several names for one setting that says something."""
        for name in names:
            found = given(name, word if name == names[0] else "")
            if found.value != "":
                return found
        return found

    # Only a localhost that the inventory does not describe is this machine by itself.
    own = "local" if host == "localhost" and host not in scope.world.inventory.hosts else "ssh"
    connection = given("connection", "connection", own)
    kind = connection.text().rpartition(".")[2]
    python = str(value("python_interpreter"))
    if kind == "local":
        return Target(
            host, "localhost", "local", python="" if python.startswith("auto") else python
        )
    if kind not in ("ssh", "paramiko", "paramiko_ssh", "smart"):
        connection.refuse("must be ssh or local")
    key_file = first("ssh_private_key_file", "private_key_file").text()
    base = Target(
        host,
        _address(given("host"), scope),
        port=first("port", "ssh_port", word="port").port(),
        user=first("user", "ssh_user", word="remote_user").user(),
        keys=(os.path.expanduser(key_file),) if key_file else (),
        password=first("password", "ssh_pass").text(),
        connect_seconds=_seconds(first("ssh_timeout", "timeout"), CONNECT_SECONDS),
        python="" if python.startswith("auto") else python,
        sources=scope.world.inventory.sources,
    )
    options = Options.read(
        given(name) for name in ("ssh_common_args", "ssh_extra_args", "ssh_args")
    )
    via = setting(scope, "via")
    through = Given(
        "" if via is MISSING or via is None else via,
        f"host {host}: via",
        lambda: scope.origin("via"),
    )
    return _resolved(base, options, scope, (*chain, host), through)


def _address(given: Given, scope: Scope) -> str:
    """Where the host is: what ansible_host says, or else its name."""
    if given.value != "":
        return given.address()
    source = scope.world.inventory.host(scope.host).source
    return Given(
        scope.host,
        f"host {scope.host!r}: its name, which is its address without ansible_host,",
        lambda: source,
    ).address()


def _seconds(given: Given, default: float) -> float:
    return default if given.value in ("", None) else given.seconds(default)


class _Settings:
    """What ssh's options and its configuration say of one host; the options win."""

    def __init__(self, base: Target, options: Options) -> None:
        self._name, self._options = base.name, options
        self._configured = configured(options.config_file, base.address)

    def __getitem__(self, name: str) -> Given:
        """A setting by its name in ssh's spelling; its value is empty when nothing sets it."""
        key = name.lower()
        if key in self._options.settings:
            return self._options.settings[key]
        found = self._configured.get(key)
        return Given(
            "" if found is None else found,
            f"host {self._name}: {name}",
            lambda: Place(config_path(self._options.config_file)),
        )

    def text(self, name: str, default: str = "") -> str:
        return self[name].text() or default

    def files(
        self, name: str, default: tuple[str, ...], tokens: Mapping[str, str]
    ) -> tuple[str, ...]:
        given = self[name]
        if not given.value:
            return default
        return tuple(filled(word, tokens) for word in given.words() if word.lower() != "none")

    def keys(self) -> tuple[str, ...]:
        found = self["IdentityFile"].value
        listed = found if isinstance(found, list) else [found]
        return tuple(
            os.path.expanduser(str(key)) for key in listed if key and str(key).lower() != "none"
        )


def _resolved(
    base: Target, options: Options, scope: Scope, chain: tuple[str, ...], via: Given
) -> Target:
    """The target with what ssh's configuration adds; the inventory's own words come first."""
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
    own = settings.files("UserKnownHostsFile", USER_FILES, tokens)
    target = replace(
        base,
        address=where,
        port=port,
        user=user,
        keys=base.keys or settings.keys(),
        known_hosts=(*own, *settings.files("GlobalKnownHostsFile", SYSTEM_FILES, tokens)),
        record_file=own[0] if own else "",
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
    given: Given, name: str, scope: Scope, options: Options, chain: tuple[str, ...]
) -> Target:
    """A jump host: one of the inventory, or an address as `ssh -J` takes it."""
    if len(chain) > MOST_HOPS or name in chain:
        raise BadSetting(
            f"jump hosts lead in a circle: {' -> '.join([*chain, name])}", given.where()
        )
    if name in scope.world.inventory.hosts:
        return target_of(Scope(scope.world, name), chain)

    def part(value: str, what: str) -> Given:
        return Given(value, f"{given.called}: the {what} of the jump host {name!r}", given.where)

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
        sources=scope.world.inventory.sources,
    )
    nothing = Given("", "", given.where)
    return _resolved(base, options.for_jump_host(), scope, (*chain, name), nothing)
