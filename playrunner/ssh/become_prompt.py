"""Commands that run as another user on a host, and the password that sudo or su asks for."""

from __future__ import annotations

import secrets
import shlex
import threading
from collections.abc import Callable

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
    ended = threading.Event()
    threading.Thread(
        target=answer_prompt, args=(channel, key.become, marker, ended), daemon=True
    ).start()

    def errors() -> str:
        ended.set()
        return channel.stderr_text().replace(marker, "")

    return channel, errors


def answer_prompt(channel: Channel, become: Become, marker: str, started: threading.Event) -> None:
    """Send the password once it is asked for; `started` ends the wait."""
    prompt = marker if become.method == "sudo" else "assword:"
    while not started.wait(0.02):  # a prompt on standard error has no event to wait for
        if prompt in channel.stderr_text():
            try:
                channel.send(become.password.encode() + b"\n")
            except (OSError, EOFError, ValueError):
                pass  # it has ended; the thread that waits for its start gets the error
            return
