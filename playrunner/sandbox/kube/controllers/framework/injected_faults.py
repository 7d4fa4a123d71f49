"""What is to go wrong: images that are not pulled, containers that are not configured, volumes that
are not made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object, key_of, uid_of

KINDS = {
    "image": "ImagePullBackOff",
    "container": "CreateContainerConfigError",
    "volume": "ProvisioningFailed",
}


class BadInjectedFault(ValueError):
    """There is no such kind of fault."""


@dataclass
class InjectedFault:
    """Hits what its pattern matches: an image (`image`), namespace/pod (`container`), a class or
    namespace/claim (`volume`)."""

    kind: str
    match: str
    reason: str = ""
    message: str = ""
    # How many pods or claims; those that were hit keep failing until the fault is cleared
    times: int | None = None
    struck: set[str] = field(default_factory=set)

    def strikes(self, uid: str, *names: str) -> bool:
        if not any(fnmatch(name, self.match) for name in names):
            return False
        if uid not in self.struck and self.times is not None and len(self.struck) >= self.times:
            return False
        self.struck.add(uid)
        return True

    def summary(self) -> dict[str, Any]:
        shown = {
            "kind": self.kind,
            "match": self.match,
            "reason": self.reason,
            "message": self.message,
            "times": self.times,
        }
        return {**shown, "struck": len(self.struck)}


class InjectedFaults:
    """Shared as `context.the(InjectedFaults)`."""

    def __init__(self, context: ControllerContext) -> None:
        self._lock = threading.Lock()
        self._all: list[InjectedFault] = []

    def add(self, fields: dict[str, Any]) -> None:
        unknown = sorted(set(fields) - {"kind", "match", "reason", "message", "times"})
        if unknown or fields.get("kind") not in KINDS or not fields.get("match"):
            raise BadInjectedFault(
                f"an injected fault needs a kind ({', '.join(KINDS)}) and a match; optional are"
                " reason, message and times"
            )
        one = InjectedFault(**fields)
        one.reason = one.reason or KINDS[one.kind]
        with self._lock:
            self._all.append(one)

    def clear(self) -> None:
        with self._lock:
            self._all.clear()

    def summary(self) -> list[dict[str, Any]]:
        with self._lock:
            return [one.summary() for one in self._all]

    def for_container(self, pod: Object, container: Object) -> InjectedFault | None:
        image, name = container.get("image", ""), "/".join(key_of(pod))
        return self._first(uid_of(pod), {"image": (image,), "container": (name, image)})

    def for_claim(self, claim: Object) -> InjectedFault | None:
        names = ("/".join(key_of(claim)), claim["spec"].get("storageClassName") or "")
        return self._first(uid_of(claim), {"volume": names})

    def _first(self, uid: str, names: dict[str, tuple[str, ...]]) -> InjectedFault | None:
        with self._lock:
            return next(
                (
                    one
                    for one in self._all
                    if one.kind in names and one.strikes(uid, *names[one.kind])
                ),
                None,
            )
