"""Reads that a user with few rights does without."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from playrunner.kube.client.errors import KubeError

Answer = TypeVar("Answer")
Other = TypeVar("Other")


def if_allowed(read: Callable[[], Answer], otherwise: Other) -> Answer | Other:
    """What the read gives; `otherwise` where the user has no right to it."""
    try:
        return read()
    except KubeError as error:
        if not error.forbidden:
            raise
        return otherwise
