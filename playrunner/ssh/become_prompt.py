"""Commands that run as another user on a host, and the password that sudo or su asks for."""

from __future__ import annotations

import re
import secrets
import shlex
import threading
from collections.abc import Callable

from playrunner.errors import StepFailed
from playrunner.ssh.agent_code import AgentKey, as_user
from playrunner.ssh.connection import Channel
from playrunner.ssh.pool import Pool
from playrunner.ssh.targets import Become


def start_command(key: AgentKey, pool: Pool, line: str) -> tuple[Channel, Callable[[], str]]:
    """Start a command line on a host, as the user that the key names; the second value gives what
    it wrote to standard error."""
    connection = pool.get(key.target)
    marker = f"[playrunner {secrets.token_hex(6)}] password: "
    if not key.become:
        channel = connection.start(line)
        return channel, channel.stderr_text
    channel = connection.start(as_user(key.become, f"/bin/sh -c {shlex.quote(line)}", marker))
    if not key.become.password:
        return channel, channel.stderr_text
    ended, refused = threading.Event(), threading.Event()
    threading.Thread(
        target=answer_prompt, args=(channel, key.become, marker, ended, refused), daemon=True
    ).start()
    method = key.become.method

    def errors() -> str:
        ended.set()
        text = channel.stderr_text()
        if refused.is_set() or (method == "su" and _SU_REFUSES.search(text)):
            raise StepFailed(f"Incorrect {method} password")
        return text.replace(marker, "")

    return channel, errors


def answer_prompt(
    channel: Channel,
    become: Become,
    marker: str,
    started: threading.Event,
    refused: threading.Event | None = None,
) -> None:
    """Send the password once it is asked for; `started` ends the wait. A program that asks again
    was sent a wrong one: it gets empty lines until it gives up, or it would wait without end."""
    prompt = marker if become.method == "sudo" else "assword:"
    asked = 0
    while not started.wait(0.02):  # a prompt on standard error has no event to wait for
        prompts = channel.stderr_text().count(prompt)
        if prompts <= asked:
            continue
        if asked and refused:
            refused.set()
        try:
            channel.send(b"\n" if asked else become.password.encode() + b"\n")
        except (OSError, EOFError, ValueError):
            return  # it has ended; the thread that waits for its start gets the error
        asked = prompts


_SU_REFUSES = re.compile("Authentication failure|incorrect password")
