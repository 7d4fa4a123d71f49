"""A program started in a session of its own, with its output in pipes.

Started without `subprocess` where the system can: importing that is a third of an agent's start.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

# Not `signal`, whose enumerations are slow to import
import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

# Python ignores them, and its children would go on doing so
_RESTORED = [_signal.SIGPIPE] + ([_signal.SIGXFSZ] if hasattr(_signal, "SIGXFSZ") else [])


class Spawned:
    """What is used of `subprocess.Popen`: its pid, its pipes, and how it ended."""

    def __init__(self, command: list[str], env: Optional[dict[str, str]], feeds: bool) -> None:
        self.returncode: Optional[int] = None
        made: list[int] = []
        try:
            # Its end of each pipe, and ours; the one for its input may be no pipe at all
            given, self._fed = _pair(made, writes=True) if feeds else (_opened_null(made), -1)
            out, self._out = _pair(made)
            err, self._err = _pair(made)
            self.pid = os.posix_spawnp(
                command[0],
                command,
                os.environ if env is None else env,
                file_actions=[
                    *((os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate((given, out, err))),
                    *((os.POSIX_SPAWN_CLOSE, fd) for fd in _inheritable()),
                ],
                setsid=True,
                setsigdef=_RESTORED,
            )
        except BaseException:
            for fd in made:
                os.close(fd)
            raise
        for fd in (given, out, err):
            os.close(fd)
        self.stdin = os.fdopen(self._fed, "wb") if feeds else None
        self.stdout = os.fdopen(self._out, "rb")
        self.stderr = os.fdopen(self._err, "rb")

    def poll(self) -> Optional[int]:
        if self.returncode is None:
            self._reap(os.WNOHANG)
        return self.returncode

    def wait(self) -> int:
        while self.returncode is None:
            self._reap(0)
        return self.returncode

    def _reap(self, options: int) -> None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # whoever killed it has waited for it
            self.returncode = 0
            return
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)


def started(
    command: list[str],
    *,
    cwd: Optional[str],
    env: Optional[dict[str, str]],
    umask: int,
    feeds: bool,
) -> Any:
    """A running program: a Spawned, or a Popen where more is asked than the former can do; `feeds`
    gives it a pipe to read from."""
    # A program is looked for in this process's PATH
    if umask == -1 and "PATH" not in (env or {}):
        try:
            with _Inside(cwd):
                return Spawned(command, {**os.environ, **env} if env else None, feeds)
        except (NotImplementedError, AttributeError, _NotHere):
            pass  # a system that cannot start a session this way
    import subprocess

    return subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **env} if env else None,
        start_new_session=True,
        umask=umask,
        stdin=subprocess.PIPE if feeds else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class _NotHere(Exception):
    """This process cannot do what a program needs at its start."""


class _Inside:
    """This process is in the program's folder while it starts it; no other thread of an agent uses
    the current folder."""

    def __init__(self, cwd: Optional[str]) -> None:
        self._cwd, self._back = cwd, -1

    def __enter__(self) -> None:
        if self._cwd is None:
            return
        try:
            self._back = os.open(".", os.O_RDONLY)
        except OSError:
            raise _NotHere from None
        try:
            os.chdir(self._cwd)
        except BaseException:
            os.close(self._back)
            raise

    def __exit__(self, *error: object) -> None:
        if self._cwd is not None:
            os.fchdir(self._back)
            os.close(self._back)


def _inheritable() -> list[int]:
    """What this process was given and its programs would be: a program gets three files only."""
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        raise _NotHere from None
    return [fd for fd in map(int, names) if fd > 2 and _is_inherited(fd)]


def _is_inherited(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False  # the list's own


def _pair(made: list[int], writes: bool = False) -> tuple[int, int]:
    """A pipe: the program's end, and ours, which `writes` or reads."""
    reads_from, writes_to = os.pipe()
    made += (reads_from, writes_to)
    return (reads_from, writes_to) if writes else (writes_to, reads_from)


def _opened_null(made: list[int]) -> int:
    made.append(os.open(os.devnull, os.O_RDWR))
    return made[-1]
