"""host.wait_for: wait until a port answers, a file or text is there, or is gone."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._paths import expanded, facts
from playrunner.modules.host._text import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext

_STATES = {
    "01": "ESTABLISHED",
    "02": "SYN_SENT",
    "03": "SYN_RECV",
    "04": "FIN_WAIT1",
    "05": "FIN_WAIT2",
    "06": "TIME_WAIT",
}  # as the kernel numbers them


class WaitFor(Probe):
    """Wait until a port answers, a file or text is there, or is gone."""

    reaches_out = True

    host: str = "127.0.0.1"  # whose port
    port: int | None = None  # the port
    path: str | None = None  # a file, in place of a port
    search_regex: str | None = None  # text that the file has, or the port says
    # What to wait for
    state: Literal["started", "present", "stopped", "absent", "drained"] = "started"
    timeout: float = 300  # seconds to wait at most
    delay: float = 0  # seconds before looking for the first time
    sleep: float = 1  # seconds between two looks
    connect_timeout: float = 5  # seconds for one connection attempt
    msg: str | None = None  # what to say when it did not come to pass
    exclude_hosts: list[str] | None = None  # connections of these do not count as undrained
    active_connection_states: list[str] = [
        "ESTABLISHED",
        "FIN_WAIT1",
        "FIN_WAIT2",
        "SYN_RECV",
        "SYN_SENT",
        "TIME_WAIT",
    ]
    # which connections count as active

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("port") is not None and arguments.get("path") is not None:
            return "port and path parameter can not both be passed to wait_for"
        if arguments.get("path") is not None and arguments.get("state") == "drained":
            return "state=drained should only be used for checking a port in the wait_for module"
        if arguments.get("exclude_hosts") and arguments.get("state") != "drained":
            return "exclude_hosts should only be with state=drained"
        return None

    def look(self, ctx: HostContext) -> dict[str, Any]:
        problem = self.check(self.__dict__)
        if problem:
            raise Failed(problem)
        if ctx.check:
            # What it waits for may be what an earlier step would have started.
            return {"unknown": True, "skipped": True}
        started = time.monotonic()
        time.sleep(self.delay)
        result: dict[str, Any] = {}
        if self.port is None and self.path is None:
            time.sleep(self.timeout)
        else:
            while not self._so(result):
                if time.monotonic() - started >= self.timeout:
                    raise Failed(
                        self.msg or self._complaint(), elapsed=int(time.monotonic() - started)
                    )
                time.sleep(min(self.sleep, max(0.01, self.timeout - (time.monotonic() - started))))
        return {
            "state": self.state,
            "port": self.port,
            "path": self.path,
            "search_regex": self.search_regex,
            "elapsed": int(time.monotonic() - started),
            "match_groups": [],
            "match_groupdict": {},
            **result,
            **(facts(expanded(self.path)) if self.path is not None else {}),
        }

    def _so(self, result: dict[str, Any]) -> bool:
        if self.state == "drained":
            return not self._connections()
        available = self._file_there(result) if self.path is not None else self._port_there(result)
        return available if self.state in ("started", "present") else not available

    def _file_there(self, result: dict[str, Any]) -> bool:
        path = expanded(self.path or "")
        if not os.path.exists(path):
            return False
        if self.search_regex is None:
            return True
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return self._matches(file.read(), result)
        except OSError:
            return False

    def _port_there(self, result: dict[str, Any]) -> bool:
        import socket

        try:
            with socket.create_connection(
                (self.host, self.port or 0), self.connect_timeout
            ) as line:
                return self._matches_said(line, result) if self.search_regex is not None else True
        except OSError:
            return False

    def _matches_said(self, line: Any, result: dict[str, Any]) -> bool:
        received, until = b"", time.monotonic() + self.connect_timeout
        while time.monotonic() < until:
            line.settimeout(max(0.01, until - time.monotonic()))
            data = line.recv(1024)
            received += data
            if self._matches(received.decode("utf-8", "replace"), result):
                return True
            if not data:
                break
        return False

    def _matches(self, text: str, result: dict[str, Any]) -> bool:
        import re

        match = compiled(self.search_regex or "", "search_regex", re.MULTILINE).search(text)
        if match:
            result["match_groups"], result["match_groupdict"] = (
                list(match.groups()),
                match.groupdict(),
            )
        return bool(match)

    def _connections(self) -> int:
        """How many active connections the port has, as the kernel lists them."""
        import socket

        excluded = {
            address[4][0]
            for host in self.exclude_hosts or ()
            for address in socket.getaddrinfo(host, None)
        }
        count = 0
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            try:
                with open(table) as file:
                    rows = [line.split() for line in file][1:]
            except OSError:
                continue
            for _, local, remote, state, *_rest in rows:
                active = _STATES.get(state) in self.active_connection_states
                if active and int(local.rpartition(":")[2], 16) == self.port:
                    count += _address(remote.rpartition(":")[0]) not in excluded
        return count

    def _complaint(self) -> str:
        if self.state == "drained":
            return f"Timeout when waiting for {self.host}:{self.port} to drain"
        if self.path is not None:
            goal = "to be absent." if self.state in ("stopped", "absent") else ""
            return (
                f"Timeout when waiting for file {self.path} {goal}".rstrip()
                if not self.search_regex or goal
                else f"Timeout when waiting for search string {self.search_regex} in {self.path}"
            )
        if self.state in ("stopped", "absent"):
            return f"Timeout when waiting for {self.host}:{self.port} to stop."
        if self.search_regex:
            return (
                f"Timeout when waiting for search string {self.search_regex} in"
                f" {self.host}:{self.port}"
            )
        return f"Timeout when waiting for {self.host}:{self.port}"


def _address(packed: str) -> str:
    """An address as the kernel writes it, in words of four bytes each in the machine's order."""
    import socket

    raw = b"".join(bytes.fromhex(packed[at : at + 8])[::-1] for at in range(0, len(packed), 8))
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
