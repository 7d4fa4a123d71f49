"""Whether a container answers: startup, readiness and liveness, each asked as often as it says."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from dataclasses import dataclass

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import MountNamespace


@dataclass
class Probe:
    """One probe of one run of a container."""

    spec: Object
    mounts: MountNamespace
    address: str
    container: Object
    due: float = 0.0
    passed: int = 0
    missed: int = 0
    first_missed: float = 0.0

    @staticmethod
    def of(container: Object, kind: str, mounts: MountNamespace, address: str) -> Probe | None:
        spec = container.get(f"{kind}Probe")
        if not spec:
            return None
        return Probe(
            spec,
            mounts,
            address,
            container,
            due=time.monotonic() + spec.get("initialDelaySeconds", 0),
        )

    def ask(self) -> None:
        """Once, if it is time."""
        if time.monotonic() < self.due:
            return
        answered = self._answers()
        self.passed = self.passed + 1 if answered else 0
        self.missed = 0 if answered else self.missed + 1
        # While it does not answer it is probed more often, so that rehearsals are short.
        self.due = time.monotonic() + (self.spec.get("periodSeconds", 10) if answered else 0.2)
        self.first_missed = 0.0 if answered else (self.first_missed or time.monotonic())

    @property
    def holds(self) -> bool:
        return self.passed >= int(self.spec.get("successThreshold", 1))

    @property
    def failed(self) -> bool:
        """As long without an answer as its threshold and period say."""
        allowed = self.spec.get("failureThreshold", 3) * self.spec.get("periodSeconds", 10)
        return bool(self.first_missed) and time.monotonic() - self.first_missed >= allowed

    def _answers(self) -> bool:
        seconds = self.spec.get("timeoutSeconds", 1)
        try:
            if "exec" in self.spec:
                command = self.mounts.command(list(self.spec["exec"]["command"]))
                ran = subprocess.run(
                    command,
                    env=self.mounts.variables(),
                    cwd=self.mounts.start_folder(),
                    check=False,
                    capture_output=True,
                    timeout=max(seconds, 5),
                )
                return ran.returncode == 0
            if "httpGet" in self.spec:
                return self._http(self.spec["httpGet"], seconds)
            if "tcpSocket" in self.spec:
                return self._tcp(self._port(self.spec["tcpSocket"]["port"]), seconds)
            return "grpc" not in self.spec or self._tcp(
                self._port(self.spec["grpc"]["port"]), seconds
            )
        except (OSError, subprocess.TimeoutExpired, http.client.HTTPException):
            return False

    def _http(self, spec: Object, seconds: float) -> bool:
        connection = http.client.HTTPConnection(
            spec.get("host") or self.address, self._port(spec["port"]), timeout=seconds
        )
        try:
            headers = {one["name"]: one["value"] for one in spec.get("httpHeaders") or ()}
            connection.request("GET", spec.get("path", "/"), headers=headers)
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
