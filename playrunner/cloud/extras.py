"""Packages that come with an extra, and may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playrunner.errors import BadInput
from playrunner.project import install_extra


@contextmanager
def packages_of(extra: str, needed: str) -> Iterator[None]:
    """Around imports of what an extra brings: if it is missing, the error is how to install it.

    `needed` says who needs which package, as "AWS needs boto3".
    """
    try:
        yield
    except ImportError:
        raise BadInput(f"{needed}; install it with: {install_extra(extra)}") from None
