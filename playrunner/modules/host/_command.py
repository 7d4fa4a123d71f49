"""What command, shell and script have in common: when to run, and what they say afterwards."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Action, Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from playrunner.hostside.host_context import HostContext, Ran


class Guarded(Action):
    """Something to run in a folder, unless a path says that it is done already."""

    chdir: str | None = None  # run it in this folder
    creates: str | None = None  # a path or glob; when it is there, nothing is run
    removes: str | None = None  # a path or glob; when it is not there, nothing is run

    @property
    def foreseeable(self) -> bool:
        return bool(self.creates or self.removes)

    def folder(self) -> Optional[str]:
        if not self.chdir:
            return None
        folder = os.path.expanduser(self.chdir)
        if not os.path.isdir(folder):
            raise Failed(
                f"Unable to change directory before execution: {folder} is no directory on the"
                " host",
                rc=None,
            )
        return folder

    def reason_not_to(self) -> Optional[str]:
        """Why there is nothing to do, in few words, or None."""
        folder = self.folder()
        if self.creates and is_there(self.creates, folder):
            return f"{self.creates} exists"
        if self.removes and not is_there(self.removes, folder):
            return f"{self.removes} does not exist"
        return None


def is_there(pattern: str, folder: Optional[str]) -> bool:
    path = os.path.join(folder or "", os.path.expanduser(pattern))
    if not any(sign in path for sign in "*?["):
        return os.path.lexists(path)
    from glob import glob

    return bool(glob(path))


def run_and_tell(
    ctx: HostContext, command: Union[str, list[str]], shown: Any, *, strip: bool = True, **how: Any
) -> dict[str, Any]:
    """Run it while its output can be followed; the result as people register it."""
    began = time.time()
    try:
        ran: Ran = ctx.run(command, live=True, **how)
    except OSError as error:
        words = command if isinstance(command, str) else " ".join(command)
        raise Failed(
            f"Error executing command: {error.strerror}: {error.filename or words}",
            rc=error.errno,
            cmd=words,
            stdout="",
            stderr="",
            stdout_lines=[],
            stderr_lines=[],
        ) from None
    result = {
        "cmd": shown,
        "rc": ran.rc,
        "start": clock(began),
        "end": clock(began + ran.seconds),
        "delta": duration(ran.seconds),
        "msg": "",
        **outputs(ran, strip),
    }
    if ran.rc:
        raise Failed(
            "non-zero return code",
            changed=True,
            **{key: result[key] for key in result if key != "msg"},
        )
    return result


def outputs(ran: Ran, strip: bool) -> dict[str, Any]:
    out, err = (ran.out.rstrip("\r\n"), ran.err.rstrip("\r\n")) if strip else (ran.out, ran.err)
    return {
        "stdout": out,
        "stdout_lines": out.splitlines(),
        "stderr": err,
        "stderr_lines": err.splitlines(),
    }


def fed(text: Optional[str], add_newline: bool) -> Optional[str]:
    if text is None:
        return None
    return text + "\n" if add_newline else text


def skipped(command: Any, reason: str, check: bool) -> dict[str, Any]:
    verb = "Would not run" if check else "Did not run"
    path, _, what = reason.partition(" ")
    message = f"skipped, since {reason}"
    return {
        "cmd": command,
        "rc": 0,
        "stdout": message,
        "stdout_lines": [message],
        "stderr": "",
        "stderr_lines": [],
        "start": None,
        "end": None,
        "delta": None,
        "msg": f"{verb} command since '{path}' {what}",
    }


def expanded_argument(argument: str) -> str:
    """~ and $NAME expanded as a shell does inside a word; unknown names stay."""
    if "$" in argument:
        argument = os.path.expandvars(argument)
    return os.path.expanduser(argument) if argument.startswith("~") else argument


def split_words(text: str) -> list[str]:
    """The words of a command line; quotes group them."""
    if not text.strip():
        raise Failed("no command given", rc=256)
    if not any(sign in text for sign in "'\"\\"):
        return text.split()
    import shlex

    try:
        return shlex.split(text)
    except ValueError as error:
        raise Failed(f"{error} in: {text}; close the quotation or use argv") from None


def clock(moment: float) -> str:
    seconds = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
    return f"{seconds}.{int(moment % 1 * 1000000):06d}"


def duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:09.6f}"
