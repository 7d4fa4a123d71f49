"""Owner: the tags on everything this program creates in a cloud, so that nothing else is ever
deleted."""

from __future__ import annotations

import getpass
import re
import time
from collections.abc import Mapping

from playrunner.errors import RunRefused
from playrunner.frozen import frozen

CLUSTER = "playrunner:cluster"  # the tag that decides whose a resource is
RUN, WHO, EXPIRES = "playrunner:run", "playrunner:who", "playrunner:expires"
KEEP = "playrunner:keep"  # on what a teardown leaves unless it is run --with-kept
REGION = "playrunner:region"  # on what belongs to no region: the region of its stack

_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
# Fits every service that takes a name made of it.
_CLUSTER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")


@frozen
class Owner:
    """Whose resources these are: a cluster, the run and user that created them, and until when."""

    cluster: str
    run: str = ""
    who: str = ""
    expires: str = ""  # as 2026-01-31T08:00:00Z
    keep: bool = False  # a teardown leaves it

    def tags(self, name: str) -> dict[str, str]:
        tags = {
            "Name": name,
            CLUSTER: self.cluster,
            RUN: self.run,
            WHO: self.who,
            EXPIRES: self.expires,
            KEEP: "true" if self.keep else "",
        }
        return {key: value for key, value in tags.items() if value}

    @property
    def tag(self) -> str:
        """The tag by which a resource is known as ours, as messages show it."""
        return f"{CLUSTER}={self.cluster}"

    def owns(self, tags: Mapping[str, str]) -> bool:
        return tags.get(CLUSTER) == self.cluster


def is_kept(tags: Mapping[str, str]) -> bool:
    """Whether its own tags say to keep it; a tag written by hand may spell it otherwise."""
    return tags.get(KEEP, "").strip().lower() not in ("", "false", "no", "0")


def owner_of(cluster: str, run: str, ttl: str = "") -> Owner:
    if not _CLUSTER_NAME.fullmatch(cluster):
        raise RunRefused(
            f'cluster_name cannot be "{cluster}"; it is a letter, then letters, digits and dashes,'
            " 63 at most"
        )
    return Owner(cluster, run, who(), expiry(ttl) if ttl else "")


def expiry(ttl: str, now: float | None = None) -> str:
    """`8h` from now, in the form that tags carry."""
    match = re.fullmatch(r"(\d+)([mhdw])", ttl.strip())
    if not match or not int(match[1]):
        raise RunRefused(f'--ttl takes a time such as 90m, 8h or 3d, not "{ttl}"')
    seconds = int(match[1]) * _SECONDS[match[2]]
    return time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime((now if now is not None else time.time()) + seconds)
    )


def who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry
        return ""
