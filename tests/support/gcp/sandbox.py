"""A pretend Google Cloud for tests: one server per test process, made new between tests, and short
words for common needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox.gcp import process
from playrunner.sandbox.gcp.process import Gcp
from playrunner.sandbox.http import control_secret
from tests.support.until import until

PATIENCE_SECONDS = 120


class PretendGcp:
    """A running server, plain requests to it, and its control API."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.up: Gcp = process.up(root)
        self._token = Path(self.up.token_file).read_text().strip()

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None
    ) -> tuple[int, Any]:
        """The status and document of one request; `path` as projects/{p}/zones/{z}/disks after its
        service's root."""
        filled = path.replace("{p}", self.up.project).replace("{z}", self.up.zone)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.up.endpoint_url}/{filled}", data=data, method=method
        )
        request.add_header("Authorization", f"Bearer {self._token if token is None else token}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=20) as answer:
                content = answer.read()
                return answer.status, json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def get(self, path: str) -> Any:
        status, found = self.ask("GET", path)
        assert status == 200, found
        return found

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """A change, once its operation is over; the operation as it ended."""
        status, begun = self.ask(method, path, body)
        assert status == 200, begun
        where = str(begun["selfLink"]).partition(f"{self.up.endpoint_url}/")[2]
        return until(lambda: self.get(where), lambda one: one["status"] == "DONE")

    def control(self, method: str, name: str, wish: Any = None) -> Any:
        status, found = self.control_response(method, name, wish)
        assert status == 200, found
        return found

    def control_response(self, method: str, name: str, wish: Any = None) -> tuple[int, Any]:
        secret = control_secret.header(self.root / "gcp")["Authorization"].removeprefix("Bearer ")
        return self.ask(method, f"_sandbox/{name}", wish, token=secret)

    def fault(self, kind: str, **more: Any) -> None:
        self.control("POST", "faults", {"kind": kind, **more})

    def calls(self, action: str | None = None) -> list[dict[str, Any]]:
        return [call for call in self.control("GET", "calls") if action in (None, call["action"])]

    def delays(self, **seconds: float) -> None:
        named = {name.replace("__", "."): value for name, value in seconds.items()}
        self.control("POST", "settings", {"delays": named})

    def gcloud(self, *words: str) -> Any:
        """What the real gcloud says, as JSON; skipped where it is not installed."""
        program = shutil.which("gcloud")
        if program is None:
            pytest.skip("gcloud is not installed")
        home = self.root / "gcloud"
        home.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            **self.up.environment(),
            "HOME": str(home),
            "CLOUDSDK_CONFIG": str(home),
            "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
            "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        ran = subprocess.run(
            [program, *words, "--format", "json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout or "null")

    def everything(self) -> dict[str, list[str]]:
        """The names of all there is, by kind, asked of each service's own lists."""
        compute, place = "compute/v1/projects/{p}", "v1/projects/{p}/locations/-"
        resources = {
            "cluster": self.get(f"{place}/clusters")["clusters"],
            "bucket": self.get("storage/v1/b?project={p}")["items"],
            "repository": self.get(f"{place}/repositories")["repositories"],
            "firewall rule": self.get(f"{compute}/global/firewalls")["items"],
        }
        for kind in ("disks", "instances", "forwardingRules", "targetPools", "addresses"):
            places = self.get(f"{compute}/aggregated/{kind}")["items"]
            resources[kind] = [one for place in places.values() for one in place[kind]]
        return {
            kind: sorted(one["name"] for one in things)
            for kind, things in resources.items()
            if things
        }
