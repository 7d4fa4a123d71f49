"""What is to go wrong: images that are not pulled, containers that are not configured, volumes that
are not made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object, key_of, uid_of
from playrunner.sandbox.kube.controllers.framework.world import World

KINDS = {
    "image": "ImagePullBackOff",
    "container": "CreateContainerConfigError",
    "volume": "ProvisioningFailed",
}


class BadMishap(ValueError):
    """There is no such mishap."""


@dataclass
class Mishap:
    """Strikes what its pattern fits: an image (`image`), namespace/pod (`container`), a class or
    namespace/claim (`volume`)."""

    kind: str
    match: str
    reason: str = ""
    message: str = ""
    # How many pods or claims; those that were struck stay so until the mishap is cleared
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


class Mishaps:
    """Shared as `world.the(Mishaps)`."""

    def __init__(self, world: World) -> None:
        self._lock = threading.Lock()
        self._all: list[Mishap] = []

    def add(self, wish: dict[str, Any]) -> None:
        unknown = sorted(set(wish) - {"kind", "match", "reason", "message", "times"})
        if unknown or wish.get("kind") not in KINDS or not wish.get("match"):
            raise BadMishap(
                f"a mishap has a kind ({', '.join(KINDS)}), a match, and may have reason, message"
                " and times"
            )
        one = Mishap(**wish)
        one.reason = one.reason or KINDS[one.kind]
        with self._lock:
            self._all.append(one)

    def clear(self) -> None:
        with self._lock:
            self._all.clear()

    def summary(self) -> list[dict[str, Any]]:
        with self._lock:
            return [one.summary() for one in self._all]

    def for_container(self, pod: Object, container: Object) -> Mishap | None:
        image, name = container.get("image", ""), "/".join(key_of(pod))
        return self._first(uid_of(pod), {"image": (image,), "container": (name, image)})

    def for_claim(self, claim: Object) -> Mishap | None:
        names = ("/".join(key_of(claim)), claim["spec"].get("storageClassName") or "")
        return self._first(uid_of(claim), {"volume": names})

    def _first(self, uid: str, names: dict[str, tuple[str, ...]]) -> Mishap | None:
        with self._lock:
            return next(
                (
                    one
                    for one in self._all
                    if one.kind in names and one.strikes(uid, *names[one.kind])
                ),
                None,
            )
