"""log_path of ansible.cfg: what a run shows is appended to a file, in the form of Ansible's."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import cache

from playrunner.config.ansible_config import ansible_config


class LogFile:
    """A file that grows by what is shown, each text with its time, process and user."""

    def __init__(self, path: str) -> None:
        # Readable by its owner alone where it is made here: results hold what hosts answered
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")
        self._lock = threading.Lock()
        self._path, self._works = path, True
        self._who = f"p={os.getpid()} u={_user()} n=ansible"

    def add(self, text: str, level: str = "INFO") -> None:
        text = text.lstrip("\n")
        if not text or not self._works:
            return
        now = time.time()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
        with self._lock:
            try:
                self._file.write(f"{stamp},{int(now % 1 * 1000):03d} {self._who} {level}| {text}\n")
                self._file.flush()
            except OSError as error:  # a full disk does not end the run that is logged
                self._works = False
                sys.stderr.write(f"warning: {self._path}: the log ends here: {error.strerror}\n")


def _user() -> str:
    import getpass  # few commands log

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # this user has no name here
        return str(os.getuid())


def log_of_configuration() -> LogFile | None:
    """The file that the configuration names; None where it names none, or none that can be
    written."""
    path = ansible_config().text("log_path")
    return _opened(path) if path else None


@cache
def _opened(path: str) -> LogFile | None:
    try:
        return LogFile(path)
    except OSError as error:
        sys.stderr.write(f"warning: log_path: {path} cannot be written: {error.strerror}\n")
        return None
