"""Credentials for an API server: each knows how to be used, and how to be renewed when it has run
out."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.kube.client.kubeconfig_shape import header
from playrunner.project import install_extra
from playrunner.text.answers import BadAnswer, Shape, fitting
from playrunner.text.documents import parse_json

COMMAND_SECONDS = 60  # a token command that takes longer waits for input
EARLY_SECONDS = 60.0  # a token is not used in its last minute
_EXEC_CREDENTIAL: Shape = {
    "status!": {
        "token": str,
        "clientCertificateData": str,
        "clientKeyData": str,
        "expirationTimestamp": str,
    }
}
FILE_SECONDS = 60.0  # a pod's token is replaced in its file from time to time


class Credentials:
    """A fixed authorization header, or none."""

    def __init__(self, authorization: str = "") -> None:
        self._authorization = authorization

    def authorization(self) -> str:
        """The header's value; empty when the connection's certificate says who we are."""
        return self._authorization

    def certificate(self) -> tuple[bytes, bytes]:
        """A certificate and key that came with the credentials."""
        return b"", b""

    def renew(self) -> bool:
        """Whether another try with new ones makes sense, after the old ones were not accepted."""
        return False


class TokenFile(Credentials):
    """A token in a file that another program keeps fresh."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file, self._read = file, 0.0

    def authorization(self) -> str:
        if time.monotonic() - self._read > FILE_SECONDS or not self._authorization:
            try:
                text = self._file.read_text(encoding="utf-8", errors="replace").strip()
            except (OSError, ValueError) as error:
                raise BadInput(
                    f"the token cannot be read: {getattr(error, 'strerror', None) or error}",
                    Place(str(self._file)),
                ) from None
            self._authorization = f"Bearer {header(text, 'the token', Place(str(self._file)))}"
            self._read = time.monotonic()
        return self._authorization

    def renew(self) -> bool:
        before, self._authorization = self._authorization, ""
        return self.authorization() != before


class ExecCommand(Credentials):
    """A command that prints a token which holds for a while, as EKS has it."""

    def __init__(self, entry: Mapping[str, Any], file: Path, cluster: Mapping[str, Any]) -> None:
        super().__init__()
        self._entry, self._place, self._cluster = entry, Place(str(file)), cluster
        self._until = 0.0
        self._certificate = b"", b""
        self._lock = threading.Lock()

    def authorization(self) -> str:
        with self._lock:
            if time.time() > self._until - EARLY_SECONDS:
                self._ask()
            return self._authorization

    def certificate(self) -> tuple[bytes, bytes]:
        self.authorization()
        return self._certificate

    def renew(self) -> bool:
        with self._lock:
            self._until = 0.0
        return True

    def _ask(self) -> None:
        status = self._said().get("status") or {}
        token = header(
            str(status.get("token") or ""),
            f"the token of {self._entry.get('command')}",
            self._place,
        )
        self._authorization = f"Bearer {token}" if token else ""
        self._certificate = (
            str(status.get("clientCertificateData") or "").encode(),
            str(status.get("clientKeyData") or "").encode(),
        )
        self._until = (
            _seconds(status["expirationTimestamp"])
            if status.get("expirationTimestamp")
            else float("inf")
        )
        if not token and not self._certificate[0]:
            raise BadInput(
                f"the command {self._entry.get('command')} printed neither a token nor a"
                " certificate",
                self._place,
            )

    def _said(self) -> dict[str, Any]:
        entry = self._entry
        argv = [str(entry.get("command", "")), *map(str, entry.get("args") or ())]
        spec: dict[str, Any] = {"interactive": False}
        if entry.get("provideClusterInfo"):
            spec["cluster"] = {
                "server": self._cluster.get("server"),
                "certificate-authority-data": self._cluster.get("certificate-authority-data"),
            }
        asked = {"apiVersion": entry.get("apiVersion"), "kind": "ExecCredential", "spec": spec}
        environment = {
            **os.environ,
            "KUBERNETES_EXEC_INFO": json.dumps(asked),
            **{str(one["name"]): str(one["value"]) for one in entry.get("env") or ()},
        }
        try:
            ran = subprocess.run(
                argv,
                env=environment,
                capture_output=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=COMMAND_SECONDS,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            hint = entry.get("installHint")
            raise BadInput(
                f"the command that gives the token cannot be run: {error}"
                + (f"; {hint}" if hint else ""),
                self._place,
            ) from None
        complaint = " ".join((ran.stderr or ran.stdout).decode(errors="replace").split())[-500:]
        if ran.returncode:
            raise BadInput(f"no token: {' '.join(argv[:3])} ... says: {complaint}", self._place)
        try:
            credential: dict[str, Any] = fitting(
                parse_json(ran.stdout, argv[0]), _EXEC_CREDENTIAL, argv[0]
            )
        except (BadInput, BadAnswer) as error:
            raise BadInput(
                f"the command {argv[0]} printed no ExecCredential ({error}); it says: {complaint}",
                self._place,
            ) from None
        return credential


class AuthProvider(Credentials):
    """An older kind of entry (oidc, gcp, azure), which the `kubernetes` package can refresh."""

    def __init__(self, file: Path, context: str) -> None:
        super().__init__()
        self._file, self._context = file, context

    def authorization(self) -> str:
        if not self._authorization:
            try:
                from kubernetes import client, config  # type: ignore[import-untyped]
            except ImportError:
                raise BadInput(
                    "an auth-provider entry needs the kubernetes package;"
                    f" install it with: {install_extra('k8s')}"
                ) from None
            loaded = client.Configuration()
            try:
                config.load_kube_config(str(self._file), self._context, loaded)
            # That package lets through whatever an entry or its provider made it stumble over
            except Exception as error:
                raise BadInput(
                    f"the auth-provider entry cannot be used: {' '.join(str(error).split())[:300]}",
                    Place(str(self._file)),
                ) from None
            self._authorization = str(loaded.get_api_key_with_prefix("authorization") or "")
        return self._authorization

    def renew(self) -> bool:
        self._authorization = ""
        return True


def _seconds(stamp: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except (ValueError, OverflowError, OSError):
        return time.time() + EARLY_SECONDS
