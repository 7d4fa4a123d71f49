"""Names in a cluster: a run's id is its job's name and its rendezvous id, and every name made of it
must still fit."""

from __future__ import annotations

import secrets

LABEL = "playrunner.io/training"  # the run's name, on its objects and pods
ID = "playrunner.io/training-id"  # which attempt of it
# Annotation: the run as it was launched, so that it is known from any machine
SUMMARY = "playrunner.io/training-run"

# No vowels, so that no word comes about by chance; nothing that is read as something else.
_LETTERS = "bcdfghjklmnpqrstvwxz"
_SIGNS = _LETTERS + "012345679"
_ID_SIGNS = 8
_LONGEST = 63  # a DNS label
_LONGEST_ENDING = len("-node-0-1023-abcde")  # a pod of a JobSet, the longest of all


def new_id(name: str) -> str:
    """`gpt2-micro-h7kq2dzl`: unique, a legal name, and short enough for what operators append to
    it."""
    room = _LONGEST - _LONGEST_ENDING - _ID_SIGNS - 1
    tail = secrets.choice(_LETTERS) + "".join(secrets.choice(_SIGNS) for _ in range(_ID_SIGNS - 1))
    return f"{name[:room].rstrip('-')}-{tail}"


def labels(name: str, run_id: str) -> dict[str, str]:
    """What the job and each of its pods carry."""
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": run_id,
        "app.kubernetes.io/managed-by": "playrunner",
        LABEL: name,
        ID: run_id,
    }
