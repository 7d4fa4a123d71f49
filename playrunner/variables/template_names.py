"""The variables that describe a template file to itself: ansible_managed, template_path, ..."""

from __future__ import annotations

import getpass
import os
import time
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput

_MANAGED = "Ansible managed"


def template_names(
    path: Path, written: str, dest: str | None, managed_is_set: bool
) -> dict[str, Any]:
    """The variables for a template file, its name as the step writes it, and where it goes; a
    variable ansible_managed of the user's own wins."""
    names = {
        **_of_file(path, written),
        "template_destpath": dest,
        "template_run_date": datetime.now(),
    }
    if managed_is_set:
        del names["ansible_managed"]
    return names


@cache
def _of_file(path: Path, written: str) -> dict[str, Any]:
    changed = path.stat().st_mtime
    host, user = os.uname().nodename, getpass.getuser()
    return {
        "template_path": written,
        "template_fullpath": str(path.absolute()),
        "template_host": host,
        "template_uid": user,
        "template_mtime": datetime.fromtimestamp(changed),
        "ansible_managed": _managed(host, user, written, changed),
    }


def _managed(host: str, user: str, written: str, changed: float) -> str:
    """The text of ansible.cfg, with its {file}, {uid} and {host} and the time of the file."""
    config = ansible_config()
    if "ansible_managed" not in config:
        return _MANAGED
    if "{{{{" in config.text("ansible_managed"):
        raise BadInput(
            "ansible_managed of ansible.cfg is not rendered as a template; set a variable"
            " ansible_managed, which is",
            config.origin("ansible_managed"),
        )
    # A file's name is no format of times: "%n" in it would begin a new line
    host, user, written = (text.replace("%", "%%") for text in (host, user, written))
    try:
        text = config.text("ansible_managed").format(host=host, uid=user, file=written)
    except (LookupError, ValueError, AttributeError) as error:
        raise BadInput(
            f"ansible_managed cannot be used: {error!r}; it may hold {{file}}, {{uid}}, {{host}}"
            " and times such as %Y-%m-%d",
            config.origin("ansible_managed"),
        ) from None
    return time.strftime(text, time.localtime(changed))
