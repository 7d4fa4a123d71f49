"""KubeContext: a context for kubectl whose tokens are made by a command of ours, fresh for every
call and never stored."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from playrunner.cloud.resource import CloudModule
from playrunner.hostside.state import Change, State
from playrunner.kube.kubeconfig import file
from playrunner.project import CODE

_PARTS = ("cluster", "user", "context")


class KubeContext(CloudModule):
    """A context in kubectl's file. It becomes the current one when it is made; others are left
    alone."""

    identity: ClassVar[tuple[str, ...]] = ("name", "path")
    settle_seconds: ClassVar[float] = 30
    token_command: ClassVar[str]  # the program of ours that prints a token

    name: str
    path: str

    def observe(self, ctx: object) -> State | None:
        content = file.read(file.place(self.path))
        found = {kind: file.entry(content, kind, self.name) for kind in _PARTS}
        return (
            {**found, "path": str(file.place(self.path)), "name": self.name}
            if any(found.values())
            else None
        )

    def declared(
        self, server: str, authority: str, arguments: list[str], namespace: str = ""
    ) -> State:
        """The three parts of a context; `arguments` are for the token command."""
        # Whoever calls kubectl may stand anywhere, so the token command must be found from
        # anywhere.
        home = [{"name": "PYTHONPATH", "value": str(CODE)}]
        command = {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": sys.executable,
            "args": ["-m", self.token_command, *arguments],
            "env": home,
            "interactiveMode": "Never",
            "provideClusterInfo": False,
        }
        context = {
            "cluster": self.name,
            "user": self.name,
            **({"namespace": namespace} if namespace else {}),
        }
        return {
            "cluster": {"server": server, "certificate-authority-data": authority},
            "user": {"exec": command},
            "context": context,
        }

    def apply(self, ctx: object, change: Change) -> None:
        wanted = change.after or {}
        with file.editing(file.place(self.path)) as content:
            for kind in _PARTS:
                file.put(content, kind, self.name, wanted.get(kind))
            if change.creates:
                content["current-context"] = self.name
            elif change.removes and content.get("current-context") == self.name:
                del content["current-context"]

    def ours(self, ctx: Any, state: State) -> bool:
        """A context that asks us for its tokens is one we made; half of one has no owner."""
        user = state.get("user")
        return user is None or self.token_command in ((user.get("exec") or {}).get("args") or ())

    def label(self, state: State) -> str:
        return f"context {self.name} in {state.get('path', '')}".removesuffix(" in ")
