"""How a host is reached: its connection variables and the user's ssh configuration, as one value."""

from __future__ import annotations

import getpass
import os
import re
import shlex
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.errors import BadInput, Place
from playrunner.hostkeys import SYSTEM_FILES, USER_FILES
from playrunner.origins import keyword, setting
from playrunner.templating import MISSING
from playrunner.variables import Scope

if TYPE_CHECKING:
    from paramiko import SSHConfig

CONNECTION_NAMES = ("ansible_connection", "ansible_host", "ansible_port", "ansible_user", "ansible_python_interpreter")
_NOT_IN_A_WORD = re.compile(r"""[\s\x00-\x1f\x7f'"`$;&<>|(){}]|\\$""")
MOST_HOPS = 8  # a longer chain of jump hosts is a circle


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
    host_key_name: str = ""  # looked up instead of the address (HostKeyAlias)
    checking: str = "yes"  # StrictHostKeyChecking
    identities_only: bool = False
    via: Target | None = None  # the jump host
    proxy_command: str = ""
    connect_seconds: float = 10
    alive_seconds: int = 30
    python: str = ""  # empty: found on the host

    @property
    def accepts_any_key(self) -> bool:
        """Whether a key that is not known is taken as it comes; asked for by name in inventory or ssh configuration."""
        return self.kind == "ssh" and self.checking in ("no", "off", "accept-new")


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
        raise BadInput(f"jump hosts lead in a circle: {' -> '.join([*chain, host])}")

    def value(name: str, word: str = "", default: Any = "") -> Any:
        found = setting(scope, f"ansible_{name}")
        if found is MISSING and words is not None and word:
            found = getattr(words, word, None)
            found = MISSING if found is None else keyword(scope, f"ansible_{name}", found)
        return default if found is MISSING or found is None else found

    # Only a localhost that the inventory does not describe is this machine by itself.
    own = "local" if host == "localhost" and host not in scope.world.inventory.hosts else "ssh"
    kind = str(value("connection", "connection", own)).rpartition(".")[2]
    python = str(value("python_interpreter"))
    if kind == "local":
        return Target(host, "localhost", "local", python="" if python.startswith("auto") else python)
    if kind not in ("ssh", "paramiko", "paramiko_ssh", "smart"):
        raise BadInput(f'host {host}: ansible_connection cannot be "{kind}"; it is ssh or local')
    key_file = str(value("ssh_private_key_file") or value("private_key_file"))
    base = Target(
        host, str(value("host", default=host)), port=_port(value("port", "port", value("ssh_port", default=0)), host),
        user=str(value("user", "remote_user", value("ssh_user"))),
        keys=(os.path.expanduser(key_file),) if key_file else (), password=str(value("password") or value("ssh_pass")),
        connect_seconds=float(value("ssh_timeout", default=value("timeout", default=10))),
        python="" if python.startswith("auto") else python)
    _check_words(base)
    options = _Options.read(" ".join(str(value(name)) for name in ("ssh_common_args", "ssh_extra_args", "ssh_args")), host)
    return _resolved(base, options, scope, (*chain, host))


def _check_words(target: Target) -> None:
    """Addresses and users are put into ssh's configuration and commands, so they are refused as OpenSSH refuses them."""
    for name, word in (("ansible_host", target.address), ("ansible_user", target.user)):
        if word.startswith("-") or _NOT_IN_A_WORD.search(word):
            raise BadInput(f"host {target.name!r:.80}: {name} cannot be {word!r:.80};"
                           " it holds no white space, quotes or other signs of a shell, and does not begin with -")


def _port(value: Any, host: str) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        raise BadInput(f"host {host}: ansible_port must be a number, not {value!r}") from None


@dataclass(frozen=True)
class _Options:
    """The part of an ssh command line that an inventory may set."""

    config_file: str = ""
    jump: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, host: str) -> _Options:
        config_file, jump, settings, keys = "", "", {}, []
        try:
            words = iter(shlex.split(text))
        except ValueError as error:
            raise BadInput(f"host {host}: ansible_ssh_common_args cannot be read: {error}") from None
        for word in words:
            flag, attached = word[:2], word[2:]
            if flag in ("-F", "-J", "-o", "-i"):
                argument = attached or next(words, "")
                if flag == "-F":
                    config_file = argument
                elif flag == "-J":
                    jump = argument
                elif flag == "-i":
                    keys.append(argument)
                else:
                    name, _, setting = argument.replace(" ", "=", 1).partition("=") if "=" not in argument else \
                        argument.partition("=")
                    settings[name.strip().lower()] = setting.strip().strip('"')
            elif flag not in ("-C", "-q", "-v", "-A", "-4", "-6", "-T", "-a", "-x"):
                raise BadInput(f'host {host}: the ssh argument "{word}" is not supported; use -F, -J, -i or -o Name=value')
        if keys:
            settings["identityfile"] = keys[0]
        return cls(config_file, jump, settings)


def _resolved(base: Target, options: _Options, scope: Scope, chain: tuple[str, ...]) -> Target:
    """The target with what ssh's configuration adds; the inventory's own words come first."""
    configured = dict(_configured(options.config_file, base.address))
    settings = {**configured, **options.settings}
    keys = base.keys or tuple(os.path.expanduser(key) for key in _listed(settings.get("identityfile")))
    files = settings.get("userknownhostsfile")
    known = tuple(_listed_words(files)) + SYSTEM_FILES if files else base.known_hosts
    target = replace(
        base, address=str(settings.get("hostname", base.address)), port=base.port or int(settings.get("port", 22)),
        user=base.user or str(settings.get("user", "")) or getpass.getuser(), keys=keys, known_hosts=known,
        host_key_name=str(settings.get("hostkeyalias", "")),
        checking=str(settings.get("stricthostkeychecking", base.checking)).lower(),
        identities_only=str(settings.get("identitiesonly", "no")).lower() == "yes",
        connect_seconds=float(settings.get("connecttimeout", base.connect_seconds)),
        alive_seconds=int(settings.get("serveraliveinterval", base.alive_seconds)))
    via = setting(scope, "via")
    if via is not MISSING and via:
        return replace(target, via=_jump(str(via), scope, options, chain))
    jump = options.jump or str(settings.get("proxyjump", ""))
    if jump and jump.lower() != "none":
        hops = [hop.strip() for hop in jump.split(",")]
        before: Target | None = None
        for hop in hops:
            here = _jump(hop, scope, options, chain)
            before = replace(here, via=before) if before else here
        return replace(target, via=before)
    command = str(settings.get("proxycommand", ""))
    if command and command.lower() != "none":
        filled = command.replace("%h", target.address).replace("%p", str(target.port)).replace("%r", target.user)
        return replace(target, proxy_command=filled)
    return target


def _jump(name: str, scope: Scope, options: _Options, chain: tuple[str, ...]) -> Target:
    """A jump host: one of the inventory, or an address as `ssh -J` takes it."""
    if name in scope.world.inventory.hosts:
        return target_of(Scope(scope.world, name), chain)
    if len(chain) > MOST_HOPS or name in chain:
        raise BadInput(f"jump hosts lead in a circle: {' -> '.join([*chain, name])}")
    user, _, rest = name.rpartition("@")
    address, port = rest, 0
    if rest.startswith("[") and "]" in rest:
        address, _, tail = rest[1:].partition("]")
        port = int(tail.lstrip(":") or 0)
    elif rest.count(":") == 1:
        address, _, tail = rest.partition(":")
        port = int(tail) if tail.isdigit() else 0
    own = ("proxyjump", "proxycommand", "hostname", "port", "user")
    kept = {key: text for key, text in options.settings.items() if key not in own}
    base = Target(name, address, port=port, user=user)
    _check_words(base)
    return _resolved(base, _Options(options.config_file, "", kept), Scope(scope.world, "localhost"), (*chain, name))


def _configured(file: str, host: str) -> dict[str, Any]:
    config = _ssh_config(file)
    return dict(config.lookup(host)) if config else {}


@cache
def _ssh_config(file: str) -> SSHConfig | None:
    """~/.ssh/config, or the file that -F names; None when there is none, which saves reading it."""
    path = Path(file).expanduser() if file else Path("~/.ssh/config").expanduser()
    if file and file.lower() == "none":
        return None
    if not path.is_file():
        if file:
            raise BadInput("the ssh configuration file named with -F does not exist", Place(file))
        return None
    from paramiko import SSHConfig
    from paramiko.ssh_exception import ConfigParseError

    try:
        return SSHConfig.from_text(_with_includes(path))
    except (ConfigParseError, ValueError, OSError) as error:
        raise BadInput(f"cannot be read as ssh configuration: {error}", Place(str(path))) from None


def _with_includes(path: Path, depth: int = 0) -> str:
    """The text of an ssh configuration with its Include lines replaced by what they name."""
    lines = []
    for line in path.read_text(errors="replace").splitlines():
        words = line.split()
        if words and words[0].lower() == "include" and depth < MOST_HOPS:
            for pattern in words[1:]:
                spelled = Path(pattern).expanduser()
                folder = Path("/") if spelled.is_absolute() else Path("~/.ssh").expanduser()
                relative = str(spelled.relative_to("/")) if spelled.is_absolute() else str(spelled)
                lines += [_with_includes(found, depth + 1) for found in sorted(folder.glob(relative)) if found.is_file()]
        else:
            lines.append(line)
    return "\n".join(lines)


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _listed_words(value: Any) -> list[str]:
    return [word for item in _listed(value) for word in shlex.split(item)]
