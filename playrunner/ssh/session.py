"""Opens SSH sessions: sockets, keys, verified host keys. The only file that imports Fabric."""

from __future__ import annotations

import errno
import logging
import socket
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from playrunner.errors import HostUnreachable
from playrunner.ssh.keys import hostkeys
from playrunner.ssh.keys.host_key_check import check
from playrunner.ssh.keys.private_keys import key_options, locked_key_remedy
from playrunner.ssh.opening import ServerBusy, closed_unread, opened_in_turn
from playrunner.ssh.proxy_command import ProxySocket
from playrunner.ssh.targets import Target

if TYPE_CHECKING:
    import fabric
    import paramiko

READ_AHEAD_BYTES = 1 << 14
WAKE_SECONDS = 0.5  # how often a transport looks whether its handshake took too long
# And once it is open, whether a keep-alive is due. A thousand idle connections that look twice a
# second take a fifth of a core, and the interpreter from the threads that work.
WAKES_PER_KEEP_ALIVE = 3
_FABRIC_SETTINGS = (
    *("authentication", "base_ssh_config", "connect_kwargs", "forward_agent", "gateway"),
    *("inline_ssh_env", "port", "timeouts", "user"),
)
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
# It logs the traceback of what ends a connection, which is reported here as one line.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def prepare() -> None:
    """Import Fabric before threads use it: a module that one thread has half imported breaks the
    others."""
    import fabric
    import paramiko

    assert fabric and paramiko


def broken(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What a broken connection raises; InvalidTag means that a message was altered on its way."""
    import paramiko
    from cryptography.exceptions import InvalidTag

    return (paramiko.SSHException, OSError, EOFError, InvalidTag, *others)


def open_session(
    target: Target, jump: Callable[[Target], fabric.Connection] | None = None
) -> fabric.Connection:
    """A session with a host through all its jump hosts; HostUnreachable says what to do.

    `jump` gives the session of a jump host that others share; without it, one is opened.
    """
    gateway = (jump or open_session)(target.via) if target.via else None
    return opened_in_turn(
        (target.via, target.address, target.port), lambda: _opened(target, gateway)
    )


def _opened(target: Target, gateway: fabric.Connection | None) -> fabric.Connection:
    import paramiko

    began = time.monotonic()
    options: dict[str, Any] = {}
    try:
        options = {**_authentication(target), "transport_factory": _transport(target)}
        options["sock"] = _through(gateway, target) if gateway else _socket(target)
        connection, settings = _of_fabric()
        made = connection(
            target.address,
            user=target.user,
            port=target.port,
            config=settings,
            connect_timeout=target.connect_seconds,
            connect_kwargs=options,
        )
        _verify_host_key(made.client, target)
        made.open()
    except paramiko.AuthenticationException as error:
        tried = ", ".join(target.keys) or "the ssh agent and the default keys"
        raise HostUnreachable(
            f"{described(target)}: login as {target.user} was refused ({error}); tried"
            f" {tried}{locked_key_remedy(target.keys)}"
        ) from None
    except broken(ValueError) as error:
        why = _why(error, options.get("sock"))
        if isinstance(error, paramiko.SSHException) and "authentication methods" in why:
            why += locked_key_remedy(target.keys)
        why = f"{described(target)}: {why}"
        is_busy = closed_unread(error, time.monotonic() - began, why)
        raise (ServerBusy if is_busy else HostUnreachable)(why) from None
    # Unanswered keep-alives break the connection; without them a lost host is waited for forever.
    made.transport.set_keepalive(target.alive_seconds)
    if target.alive_seconds and not isinstance(made.transport.sock, ProxySocket):
        made.transport.sock.settimeout(
            max(WAKE_SECONDS, target.alive_seconds / WAKES_PER_KEEP_ALIVE)
        )
    return made


class _PromptSocket(socket.socket):
    """Acknowledges received data at once, and reads ahead.

    sshd sends two small messages in a row after a login; the second waits for the acknowledgement
    of the first, which the kernel would delay by 40 ms. Measured: opening a session falls from 43
    to 2.5 ms. Paramiko reads each message in two pieces, which are taken from one read here.
    """

    _ahead = b""

    def recv(self, size: int, *flags: int) -> bytes:
        ahead = self._ahead
        if not ahead:
            ahead = super().recv(max(size, READ_AHEAD_BYTES), *flags)
            if _QUICKACK is not None:
                self.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
        self._ahead = ahead[size:]
        return ahead[:size]

    def close(self) -> None:
        """Wakes the thread that reads, which a mere close would leave waiting."""
        try:
            self.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is not connected any more
        super().close()


def _through(gateway: fabric.Connection, target: Target) -> paramiko.Channel:
    """A connection from the jump host to the host; all hosts behind it share its session."""
    channel: paramiko.Channel = gateway.transport.open_channel(
        "direct-tcpip", (target.address, target.port), ("", 0), timeout=target.connect_seconds
    )
    return channel


def _socket(target: Target) -> socket.socket:
    if target.proxy_command:
        return ProxySocket(target.proxy_command, target.connect_seconds)
    made = socket.create_connection((target.address, target.port), timeout=target.connect_seconds)
    # Without it each small message waits 40 ms for the acknowledgement of the one before.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made = _PromptSocket(fileno=made.detach())
    made.settimeout(target.connect_seconds)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3000 * target.alive_seconds)
    return made


@cache
def _of_fabric() -> tuple[type[fabric.Connection], fabric.Config]:
    """Fabric's connection, which lists all its attributes each time one is set, and its defaults,
    which it merges anew for each connection and value: a millisecond for each host."""
    import fabric
    import paramiko

    class Connection(fabric.Connection):  # type: ignore[misc]  # Fabric has no types
        # What it does not know as an attribute it would write into the configuration
        __setattr__ = object.__setattr__

    class Config(fabric.Config):  # type: ignore[misc]  # Fabric has no types
        def __init__(self) -> None: ...  # all connections read the values below

        def __getitem__(self, name: str) -> Any:
            return getattr(self, name)

        def __getattr__(self, name: str) -> Any:
            return getattr(defaults, name)

    # ssh's configuration has been applied to the target already, and is not applied again
    defaults = fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True)
    for name in _FABRIC_SETTINGS:
        setattr(Config, name, getattr(defaults, name))
    return Connection, Config()


def _authentication(target: Target) -> dict[str, Any]:
    options: dict[str, Any] = {
        "allow_agent": not target.identities_only,
        "banner_timeout": 30,
        "auth_timeout": 30,
        **key_options(target.keys),
    }
    if target.password:
        options["password"] = target.password
    return options


def _transport(target: Target) -> Callable[..., paramiko.Transport]:
    """A factory of transports that prefer the types of key the host is known by, and ciphers that
    authenticate: Paramiko compares the code of any other byte by byte in Python."""
    import paramiko

    known = hostkeys.known_kinds(target.known_hosts, target.known_names)
    preferred = [
        name
        for kind in known
        for name in (("rsa-sha2-512", "rsa-sha2-256") if kind == "ssh-rsa" else (kind,))
    ]

    def make(*args: Any, **settings: Any) -> paramiko.Transport:
        made = paramiko.Transport(*args, **settings)
        security = made.get_security_options()
        offered = list(security.key_types)
        security.key_types = sorted(
            offered, key=lambda name: preferred.index(name) if name in preferred else len(preferred)
        )
        security.ciphers = sorted(security.ciphers, key=lambda name: "-gcm@" not in name)
        if not isinstance(made.sock, ProxySocket):  # whose end a waiting reader does not see
            made.sock.settimeout(WAKE_SECONDS)  # not ten times a second for each host
        return made

    return make


def _verify_host_key(client: paramiko.SSHClient, target: Target) -> None:
    """Check every key with our own rules: paramiko's table holds only one key per type."""
    client.set_missing_host_key_policy(_CheckedKey(target))  # type: ignore[arg-type]


class _CheckedKey:
    """What paramiko asks about a key that its own table does not hold."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        check(self._target, key)


def offered_key(target: Target) -> paramiko.PKey:
    """The key a host presents, without logging in."""
    sock: Any = None
    try:
        via = open_session(target.via) if target.via else None
        sock = (
            via.transport.open_channel("direct-tcpip", (target.address, target.port), ("", 0))
            if via
            else _socket(target)
        )
        with _transport(target)(sock) as transport:
            transport.start_client(timeout=target.connect_seconds)
            return transport.get_remote_server_key()
    except broken() as error:
        raise HostUnreachable(f"{described(target)}: {_why(error, sock)}") from None
    finally:
        if sock is not None:
            sock.close()


def _why(error: BaseException, sock: Any) -> str:
    """Why a connection failed; a ProxyCommand's own error comes first."""
    return (sock.failure() if isinstance(sock, ProxySocket) else "") or reason(error)


def described(target: Target) -> str:
    """The host's name, address and jump host, for messages."""
    hop = f" via {target.via.name}" if target.via else ""
    return f"{target.name} ({target.user}@{target.address}:{target.port}{hop})"


def reason(error: BaseException) -> str:
    """Why a connection failed, and what to check."""
    text = str(error) or type(error).__name__
    if not isinstance(error, OSError) and _altered(error):
        return "a message was altered on its way; check what relays the connection"
    if isinstance(error, ConnectionRefusedError) or "Connection refused" in text:
        return "connection refused; check that sshd runs there, on this port"
    if isinstance(error, TimeoutError | socket.timeout) or "timed out" in text:
        return "no answer in time; check that the host is up and that no firewall blocks the port"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            'too many open files on this machine; raise the limit with "ulimit -n", or lower'
            " --forks"
        )
    if isinstance(error, socket.gaierror):
        return f"the address cannot be resolved ({text}); set ansible_host"
    return text


def _altered(error: BaseException) -> bool:
    # Not for an OSError: where no file can be opened, nothing can be imported
    from cryptography.exceptions import InvalidTag

    return isinstance(error, InvalidTag)
