"""The owner mark as labels. Google's labels take small letters, digits, dashes and underscores
only, 63 of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from playrunner.cloud.owner import CLUSTER, EXPIRES, RUN, WHO, Owner
from playrunner.errors import BadInput

LABELS = {
    CLUSTER: "playrunner-cluster",
    RUN: "playrunner-run",
    WHO: "playrunner-who",
    EXPIRES: "playrunner-expires",
}
MARK = LABELS[CLUSTER]
_STAMP, _LABEL_STAMP = "%Y-%m-%dT%H:%M:%SZ", "%Y%m%dt%H%M%Sz"


def labels(owner: Owner, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The mark beside labels of the user's own; the mark wins."""
    if owner.cluster != owner.cluster.lower():
        raise BadInput(
            f'cluster_name cannot be "{owner.cluster}" in Google Cloud, where labels take small'
            " letters only"
        )
    values = {
        RUN: owner.run,
        WHO: re.sub(r"[^a-z0-9_-]", "-", owner.who.lower())[:63],
        CLUSTER: owner.cluster,
        EXPIRES: _spelled(owner.expires),
    }
    return {**(more or {}), **{LABELS[tag]: value for tag, value in values.items() if value}}


def owns(owner: Owner, labels: Mapping[str, str] | None) -> bool:
    return (labels or {}).get(MARK) == owner.cluster


def tags(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Labels in the words of the owner mark, as the rest of the program knows it."""
    back = {label: tag for tag, label in LABELS.items()}
    named = {back.get(name, name): value for name, value in (labels or {}).items()}
    if EXPIRES in named:
        named[EXPIRES] = _unspelled(named[EXPIRES])
    return named


def _spelled(stamp: str) -> str:
    return datetime.strptime(stamp, _STAMP).strftime(_LABEL_STAMP) if stamp else ""


def _unspelled(label: str) -> str:
    try:
        return datetime.strptime(label, _LABEL_STAMP).replace(tzinfo=UTC).strftime(_STAMP)
    except ValueError:
        return ""
