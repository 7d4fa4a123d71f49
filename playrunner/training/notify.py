"""`train.launch --notify URL|COMMAND`: who is told when a followed run ends, fails or stalls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.frozen import frozen
from playrunner.training.runs.record import Record

_URL_SECONDS = 10.0
_COMMAND_SECONDS = 60.0


@frozen
class Notifier:
    target: str  # an address, or a command for the shell
    run: str
    say: Callable[[str], None]

    def send(self, event: str, text: str) -> None:
        """One that cannot be reached is a line on the terminal; the run has its own end."""
        if not self.target:
            return
        message = {"event": event, "run": self.run, "text": text}
        try:
            if is_address(self.target):
                _post(self.target, message)
            else:
                _execute(self.target, message)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            # Of the error its kind alone: an address may hold what opens it
            self.say(f"--notify was not told that {self.run} {event}: {type(error).__name__}")


def notifying(start: Callable[[], int], target: str, run: str) -> int:
    """What `start` returns, its end told."""
    notifier, begun = Notifier(target, run, _print), time.time()
    try:
        code = start()
    except PlayrunnerError as error:
        notifier.send("failed", str(error))
        raise
    record = Record(run)
    ending = record.ending()
    if float(ending.get("time") or 0) >= begun:
        last = [each["step"] for each in record.metrics()[-1:]]
        state = str(ending["state"])
        notifier.send(state, f"{run} {state}" + (f" at step {last[0]}" if last else ""))
    return code


def _print(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def is_address(target: str) -> bool:
    return target.startswith(("http://", "https://"))


def check_target(target: str, detach: bool) -> None:
    if target and detach:
        raise BadInput(
            "--notify needs the launch to follow the run; leave out --detach, or follow it with"
            " train.attach"
        )
    if "://" in target.partition(" ")[0] and not is_address(target):
        raise BadInput("--notify: an address begins with http:// or https://")


def _post(address: str, message: dict[str, str]) -> None:
    from urllib.request import Request as HttpRequest
    from urllib.request import urlopen

    body = json.dumps(message).encode()
    request = HttpRequest(address, body, {"Content-Type": "application/json"})
    with urlopen(request, timeout=_URL_SECONDS):
        pass


def _execute(command: str, message: dict[str, str]) -> None:
    variables = {f"PLAYRUNNER_{name.upper()}": value for name, value in message.items()}
    subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=_COMMAND_SECONDS,
        check=True,
    )
