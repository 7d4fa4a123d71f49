"""Connections: a local process or an SSH session through any number of jump hosts; the only file that imports Fabric."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from playrunner import hostkeys
from playrunner.errors import HostUnreachable
from playrunner.targets import Target

if TYPE_CHECKING:
    import fabric
    import paramiko

READ_BYTES = 1 << 16


class Channel(Protocol):
    """One program at the other end: bytes in, bytes out."""

    def send(self, data: bytes) -> None: ...
    def receive(self) -> bytes: ...  # empty at the end
    def complaints(self) -> str: ...  # what it wrote to standard error so far
    def status(self) -> int: ...  # its exit status, once it has ended
    def close(self) -> None: ...


class Stream(Protocol):
    """A connection to a port: bytes both ways."""

    def sendall(self, data: bytes, /) -> object: ...
    def recv(self, size: int, /) -> bytes: ...  # empty at the end
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """A way to start programs on one host."""

    target: Target

    def start(self, command: str) -> Channel: ...
    def forward(self, address: str, port: int) -> Stream: ...  # a port as the host reaches it
    def close(self) -> None: ...


def prepare() -> None:
    """Import what connections need before threads open them: a module half imported by one thread breaks another."""
    import fabric
    import paramiko

    assert fabric and paramiko


def connect(target: Target) -> Connection:
    """An open connection, or HostUnreachable with what to do about it."""
    return Local(target) if target.kind == "local" else Ssh(target)


class Local:
    """This machine."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def start(self, command: str) -> Channel:
        return LocalChannel(command)

    def forward(self, address: str, port: int) -> Stream:
        try:
            made = socket.create_connection((address, port), timeout=self.target.connect_seconds)
        except OSError as error:
            raise HostUnreachable(f"{self.target.name}: {address}:{port}: {_reason(error)}") from None
        made.settimeout(None)
        return made

    def close(self) -> None:
        pass


class LocalChannel:
    """A child process."""

    def __init__(self, command: str) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  a file never fills up and stops its writer, as a pipe would
        self._process = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._complaints, bufsize=0, start_new_session=True)

    def send(self, data: bytes) -> None:
        assert self._process.stdin
        view = memoryview(data)
        while view:
            view = view[self._process.stdin.write(view):]

    def receive(self) -> bytes:
        assert self._process.stdout
        return self._process.stdout.read(READ_BYTES) or b""

    def complaints(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace")

    def status(self) -> int:
        return self._process.wait()

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        for stream in (self._process.stdin, self._process.stdout):
            with _quietly():
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Ssh:
    """An SSH connection by Fabric, with the host's key verified at every hop."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._fabric = _open(target)

    def start(self, command: str) -> Channel:
        import paramiko

        try:
            session = self._fabric.transport.open_session(timeout=self.target.connect_seconds)
            session.exec_command(command)
        except paramiko.ChannelException:
            # The server allows so many sessions on one connection (MaxSessions); another connection has room again.
            return Ssh(self.target).start(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise HostUnreachable(f"{_place(self.target)}: the connection broke: {error}") from None
        return SshChannel(session, self)

    def forward(self, address: str, port: int) -> Stream:
        import paramiko

        try:
            made: paramiko.Channel = self._fabric.transport.open_channel(
                "direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=self.target.connect_seconds)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise HostUnreachable(f"{_place(self.target)}: {address}:{port} cannot be reached from there: {error}") from None
        return made

    def close(self) -> None:
        with _quietly():
            self._fabric.close()


class SshChannel:
    """A program behind an SSH session; it keeps its connection alive."""

    def __init__(self, session: paramiko.Channel, connection: Ssh) -> None:
        self._session, self._connection = session, connection
        self._heard = bytearray()

    def send(self, data: bytes) -> None:
        self._session.sendall(data)

    def receive(self) -> bytes:
        return self._session.recv(READ_BYTES)

    def complaints(self) -> str:
        while self._session.recv_stderr_ready():
            self._heard += self._session.recv_stderr(READ_BYTES)
        return self._heard.decode(errors="replace")

    def status(self) -> int:
        return self._session.recv_exit_status()

    def close(self) -> None:
        with _quietly():
            self._session.close()


def _open(target: Target) -> fabric.Connection:
    import fabric
    import paramiko

    gateway = target.proxy_command or (_open(target.via) if target.via else None)
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
            f"{_place(target)}: the host key has CHANGED: {hostkeys.fingerprint(error.key)} instead of"
            f" {hostkeys.fingerprint(error.expected_key)}. If the host was rebuilt, remove the old key with"
            f" \"ssh-keygen -R '{name}'\" and run \"invoke hosts.trust {target.name}\"") from None
    except paramiko.AuthenticationException as error:
        tried = ", ".join(target.keys) or "the ssh agent and the default keys"
        raise HostUnreachable(f"{_place(target)}: login as {target.user} was refused ({error}); tried {tried}") from None
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        raise HostUnreachable(f"{_place(target)}: {_reason(error)}") from None
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
        via = _open(target.via) if target.via else None
        sock = (via.transport.open_channel("direct-tcpip", (target.address, target.port), ("", 0)) if via
                else _socket(target))
        with paramiko.Transport(sock) as transport:
            transport.start_client(timeout=target.connect_seconds)
            return transport.get_remote_server_key()
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise HostUnreachable(f"{_place(target)}: {_reason(error)}") from None


def _place(target: Target) -> str:
    hop = f" via {target.via.name}" if target.via else ""
    return f"{target.name} ({target.user}@{target.address}:{target.port}{hop})"


def _reason(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, ConnectionRefusedError) or "Connection refused" in text:
        return "connection refused; is sshd running there, on this port?"
    if isinstance(error, TimeoutError | socket.timeout) or "timed out" in text:
        return "no answer in time; is the host up, and is the network open?"
    if isinstance(error, socket.gaierror):
        return f"the address cannot be found ({text}); set ansible_host"
    return text


@contextmanager
def _quietly() -> Iterator[None]:
    """Closing what is already broken is no news."""
    try:
        yield
    except (OSError, EOFError, ValueError):
        pass

