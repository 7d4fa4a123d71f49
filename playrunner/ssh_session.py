"""SSH sessions opened: sockets that answer at once, keys, host keys that are verified; the only file that imports Fabric."""

from __future__ import annotations

import errno
import socket
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner import hostkeys
from playrunner.errors import HostUnreachable
from playrunner.targets import Target

if TYPE_CHECKING:
    import fabric
    import paramiko


def prepare() -> None:
    """Import what sessions need before threads open them: a module half imported by one thread breaks another."""
    import fabric
    import paramiko

    assert fabric and paramiko


def opened(target: Target) -> fabric.Connection:
    """A session with a host through all its jump hosts, or HostUnreachable with what to do about it."""
    import fabric
    import paramiko

    gateway = target.proxy_command or (opened(target.via) if target.via else None)
    try:
        options: dict[str, Any] = _authentication(target)
        if not gateway:
            options["sock"] = _socket(target)
        made = fabric.Connection(target.address, user=target.user, port=target.port, config=_fabric_config(),
                                 gateway=gateway, connect_timeout=target.connect_seconds, connect_kwargs=options)
        _verify_host_key(made.client, target)
        made.open()
    except paramiko.BadHostKeyException as error:
        name = target.host_key_name or hostkeys.label(target.address, target.port)
        raise HostUnreachable(
            f"{place(target)}: the host key has CHANGED: {hostkeys.fingerprint(error.key)} instead of"
            f" {hostkeys.fingerprint(error.expected_key)}. If the host was rebuilt, remove the old key with"
            f" \"ssh-keygen -R '{name}'\" and run \"invoke hosts.trust {target.name}\"") from None
    except paramiko.AuthenticationException as error:
        tried = ", ".join(target.keys) or "the ssh agent and the default keys"
        raise HostUnreachable(f"{place(target)}: login as {target.user} was refused ({error}); tried {tried}") from None
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        raise HostUnreachable(f"{place(target)}: {reason(error)}") from None
    # A host that vanished is noticed: unanswered keep-alives break the connection instead of leaving it to wait.
    made.transport.set_keepalive(target.alive_seconds)
    return made


class _PromptSocket(socket.socket):
    """Acknowledges at once what it receives.

    sshd sends two small messages in a row after a login; the second waits for the acknowledgement of the first, which the
    kernel would delay by 40 ms. Measured: opening a session falls from 43 to 2.5 ms.
    """

    def recv(self, *args: int) -> bytes:
        data = super().recv(*args)
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data


def _socket(target: Target) -> socket.socket:
    made = socket.create_connection((target.address, target.port), timeout=target.connect_seconds)
    # Without it each small message waits 40 ms for the acknowledgement of the one before.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_QUICKACK"):
        made = _PromptSocket(fileno=made.detach())
        made.settimeout(target.connect_seconds)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3000 * target.alive_seconds)
    return made


def _fabric_config() -> fabric.Config:
    import fabric
    import paramiko

    # ssh's configuration has been applied to the target already; Fabric must not apply it again. One for each connection:
    # Fabric writes into it, and connections are opened side by side.
    return fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True)


def _authentication(target: Target) -> dict[str, Any]:
    found: dict[str, Any] = {"look_for_keys": not target.keys, "allow_agent": not target.identities_only,
                             "banner_timeout": 30, "auth_timeout": 30}
    if target.password:
        found["password"] = target.password
    keys = [key for key in map(_private_key, target.keys) if key]
    if keys:
        found["pkey"] = keys[0]
    files = [file for file in target.keys[1:] if Path(file).is_file()]
    if files:
        found["key_filename"] = files
    return found


@cache
def _private_key(file: str) -> paramiko.PKey | None:
    """A key read once for all hosts; one behind a passphrase is left to the ssh agent."""
    import paramiko

    if not Path(file).is_file():
        raise HostUnreachable(f"the private key {file} does not exist; see ansible_ssh_private_key_file")
    try:
        return paramiko.PKey.from_path(file)
    except paramiko.PasswordRequiredException:
        return None
    except (paramiko.SSHException, ValueError, TypeError) as error:
        if "encrypted" in str(error) or "assword" in str(error):
            return None
        raise HostUnreachable(f"the private key {file} cannot be read: {error}") from None


def _verify_host_key(client: paramiko.SSHClient, target: Target) -> None:
    import paramiko

    class Unknown(paramiko.MissingHostKeyPolicy):
        def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
            if target.accepts_any_key:
                return
            raise paramiko.SSHException(
                f"the host key is not known: {hostkeys.fingerprint(key)}. Compare it with the host's own, then run"
                f" \"invoke hosts.trust {target.name}\"")

    client.set_missing_host_key_policy(Unknown())
    name = hostkeys.label(target.address, target.port)
    for kind, text in hostkeys.known_lines(target.known_hosts, target.host_key_name or name):
        entry = paramiko.hostkeys.HostKeyEntry.from_line(f"{name} {kind} {text}")
        if entry and entry.key:
            client.get_host_keys().add(name, kind, entry.key)


def offered_key(target: Target) -> paramiko.PKey:
    """The key a host shows, without logging in: for a person to compare."""
    import paramiko

    try:
        via = opened(target.via) if target.via else None
        sock = (via.transport.open_channel("direct-tcpip", (target.address, target.port), ("", 0)) if via
                else _socket(target))
        with paramiko.Transport(sock) as transport:
            transport.start_client(timeout=target.connect_seconds)
            return transport.get_remote_server_key()
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise HostUnreachable(f"{place(target)}: {reason(error)}") from None


def place(target: Target) -> str:
    """How messages name a host."""
    hop = f" via {target.via.name}" if target.via else ""
    return f"{target.name} ({target.user}@{target.address}:{target.port}{hop})"


def reason(error: BaseException) -> str:
    """What a failure to connect means, in a person's words."""
    text = str(error) or type(error).__name__
    if isinstance(error, ConnectionRefusedError) or "Connection refused" in text:
        return "connection refused; is sshd running there, on this port?"
    if isinstance(error, TimeoutError | socket.timeout) or "timed out" in text:
        return "no answer in time; is the host up, and is the network open?"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "no more files may be open on this machine; raise the limit with \"ulimit -n\", or lower --forks"
    if isinstance(error, socket.gaierror):
        return f"the address cannot be found ({text}); set ansible_host"
    return text
