"""Whether a container answers: startup, readiness and liveness, each asked as often as it says."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from dataclasses import dataclass

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import Box


@dataclass
class Probe:
    """One probe of one run of a container."""

    wish: Object
    box: Box
    address: str
    container: Object
    due: float = 0.0
    passed: int = 0
    missed: int = 0
    first_missed: float = 0.0

    @staticmethod
    def of(container: Object, kind: str, box: Box, address: str) -> Probe | None:
        wish = container.get(f"{kind}Probe")
        if not wish:
            return None
        return Probe(
            wish, box, address, container, due=time.monotonic() + wish.get("initialDelaySeconds", 0)
        )

    def ask(self) -> None:
        """Once, if it is time."""
        if time.monotonic() < self.due:
            return
        answered = self._answers()
        self.passed = self.passed + 1 if answered else 0
        self.missed = 0 if answered else self.missed + 1
        # While it does not answer it is asked more often: nobody rehearses to wait.
        self.due = time.monotonic() + (self.wish.get("periodSeconds", 10) if answered else 0.2)
        self.first_missed = 0.0 if answered else (self.first_missed or time.monotonic())

    @property
    def holds(self) -> bool:
        return self.passed >= int(self.wish.get("successThreshold", 1))

    @property
    def failed(self) -> bool:
        """As long without an answer as its threshold and period say."""
        allowed = self.wish.get("failureThreshold", 3) * self.wish.get("periodSeconds", 10)
        return bool(self.first_missed) and time.monotonic() - self.first_missed >= allowed

    def _answers(self) -> bool:
        seconds = self.wish.get("timeoutSeconds", 1)
        try:
            if "exec" in self.wish:
                command = self.box.command(list(self.wish["exec"]["command"]))
                ran = subprocess.run(command, env=self.box.variables(), cwd=self.box.start_folder(), check=False,
                                     capture_output=True, timeout=max(seconds, 5))  # fmt: skip
                return ran.returncode == 0
            if "httpGet" in self.wish:
                return self._http(self.wish["httpGet"], seconds)
            if "tcpSocket" in self.wish:
                return self._tcp(self._port(self.wish["tcpSocket"]["port"]), seconds)
            return "grpc" not in self.wish or self._tcp(
                self._port(self.wish["grpc"]["port"]), seconds
            )
        except (OSError, subprocess.TimeoutExpired, http.client.HTTPException):
            return False

    def _http(self, wish: Object, seconds: float) -> bool:
        connection = http.client.HTTPConnection(
            wish.get("host") or self.address, self._port(wish["port"]), timeout=seconds
        )
        try:
            headers = {one["name"]: one["value"] for one in wish.get("httpHeaders") or ()}
            connection.request("GET", wish.get("path", "/"), headers=headers)
            return 200 <= connection.getresponse().status < 400
        finally:
            connection.close()

    def _tcp(self, port: int, seconds: float) -> bool:
        with socket.create_connection((self.address, port), timeout=seconds):
            return True

    def _port(self, port: int | str) -> int:
        if isinstance(port, int) or port.isdigit():
            return int(port)
        return next(
            int(one["containerPort"])
            for one in self.container.get("ports") or ()
            if one.get("name") == port
        )
