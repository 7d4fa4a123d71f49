"""The home folder of an account that is there already."""

from __future__ import annotations

import os
import shutil

_LOGIN_DEFAULTS = "/etc/login.defs"
_SKELETON = "/etc/skel"


def make_home(path: str, owner: tuple[int, int], skeleton: str | None) -> None:
    """As useradd would have made it: the skeleton's files, the account's own."""
    source = skeleton or _SKELETON
    if source != os.devnull and os.path.isdir(source):
        shutil.copytree(source, path, symlinks=True)
    else:
        os.makedirs(path)
    for folder, _, files in os.walk(path):
        for name in (folder, *(os.path.join(folder, file) for file in files)):
            os.chown(name, *owner, follow_symlinks=False)
    os.chmod(path, _mode())


def _mode() -> int:
    """HOME_MODE of this system, else what its UMASK leaves."""
    mode = 0o755
    try:
        with open(_LOGIN_DEFAULTS, encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return mode
    for words in lines:
        if len(words) >= 2 and words[0] in ("HOME_MODE", "UMASK"):
            try:
                number = int(words[1], 8)
            except ValueError:
                continue
            if words[0] == "HOME_MODE":
                return number
            mode = 0o777 & ~number
    return mode
