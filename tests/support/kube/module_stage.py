"""A stage for tests of Kubernetes modules: steps are played by the real runner against the
sandbox's API server."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import urllib3
import yaml

from playrunner.lifecycle.delete import Deletion, removable, remove
from playrunner.options import Options
from playrunner.playbook import load_playbook
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from tests.support.aws.module_stage import Run


class Api:
    """The API server as another client sees it."""

    def __init__(self, kubeconfig: Path, flavour: str = "pretend") -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        context = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
        )
        self.kubeconfig, self.flavour, self.server = kubeconfig, flavour, cluster["server"]
        self._pool = urllib3.PoolManager(ssl_context=context)
        self._headers = {"Authorization": f"Bearer {user['token']}"}

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        answer = self._pool.request(
            method,
            self.server + path,
            headers={**self._headers, "Content-Type": kind},
            body=None if body is None else json.dumps(body),
        )
        if answer.headers.get("Content-Type", "").startswith(
            "text/plain"
        ):  # a path that is not served yet
            return {"kind": "Status", "code": answer.status, "message": answer.data.decode()}
        return json.loads(answer.data) if answer.data else {}

    def get(self, path: str) -> Any:
        """What is at a path, or None."""
        found = self.call("GET", path)
        return None if isinstance(found, dict) and found.get("kind") == "Status" else found

    def merge(self, path: str, body: Any, manager: str = "somebody") -> Any:
        return self.call(
            "PATCH", f"{path}?fieldManager={manager}", body, "application/merge-patch+json"
        )

    def status(self, path: str, **status: Any) -> Any:
        """Do what a controller does: say how an object is."""
        said = self.call(
            "PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json"
        )
        assert said["kind"] != "Status", said
        return said


class KubeStage:
    """Plays steps on localhost, in this process, in a namespace and with a name of the test."""

    def __init__(self, api: Api, folder: Path, own: str) -> None:
        self.api, self.folder, self.own, self.namespace = api, folder, own, own
        self.variables: dict[str, Any] = {"cluster_name": own, "kubeconfig": str(api.kubeconfig)}

    def play(
        self,
        steps: Sequence[dict[str, Any]],
        check: bool = False,
        diff: bool = False,
        **variables: Any,
    ) -> Run:
        out = io.StringIO()
        options = Options((self._inventory(variables),), check=check, diff=diff, json=True)
        with contextlib.redirect_stdout(out):
            code = run_plays(self._plays(steps), options, "test")
        return Run(code, json.loads(out.getvalue())["results"], out.getvalue())

    def told(self, steps: Sequence[dict[str, Any]]) -> str:
        """What the user sees of steps that another command runs, as a launch does."""
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            run_plays(self._plays(steps), Options((self._inventory({}),), quiet=True), "test")
        return err.getvalue()

    def delete(self, steps: Sequence[dict[str, Any]], **variables: Any) -> Run:
        survey, gone = Survey(), list[Deletion]()

        def go(shared: Any) -> int:
            gone.extend(remove(survey, removable(survey, with_kept=True), lambda deleted: None))
            return 2 if any(deleted.status == "failed" for deleted in gone) else 0

        code = run_plays(
            self._plays(steps),
            Options((self._inventory(variables),), quiet=True),
            "test delete",
            survey=survey,
            then=go,
        )
        return Run(
            code,
            [],
            "\n".join(f"{one.resource.title}: {one.status} {one.reason}" for one in gone),
            {one.resource.title: one for one in gone},
        )

    def counted(
        self, steps: Sequence[dict[str, Any]], **options: Any
    ) -> tuple[Run, list[tuple[str, str]]]:
        """A play, and the requests it made."""
        from playrunner.kube.client.transport import Transport

        asked: list[tuple[str, str]] = []
        send: Callable[..., Any] = Transport.send

        def note(self: Transport, method: str, path: str, query: Any, *more: Any) -> Any:
            asked.append((method + (" dry" if query.get("dryRun") else ""), path))
            return send(self, method, path, query, *more)

        Transport.send = note  # type: ignore[method-assign]
        try:
            return self.play(steps, **options), asked
        finally:
            Transport.send = send  # type: ignore[method-assign]

    def _plays(self, steps: Sequence[dict[str, Any]]) -> Any:
        file = self.folder / "steps.yaml"
        file.write_text(
            yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": list(steps)}])
        )
        return load_playbook(file)

    def _inventory(self, variables: dict[str, Any]) -> str:
        file = self.folder / "inventory.yaml"
        file.write_text(yaml.safe_dump({"all": {"vars": {**self.variables, **variables}}}))
        return str(file)
