"""Why an agent did not start: sudo refused, there is no Python, or something else printed why."""

from __future__ import annotations

from playrunner.errors import HostUnreachable, NoInterpreter, StepFailed
from playrunner.project import program
from playrunner.ssh.agent_code import NO_PYTHON, AgentKey
from playrunner.ssh.connection import Channel

SHOWN_CHARACTERS = 300  # of a line in a message
EXIT_SECONDS = 10.0  # a program that closed its output ends soon after


def did_not_start(key: AgentKey, channel: Channel) -> Exception:
    status = channel.status(EXIT_SECONDS)
    stderr = channel.stderr_text().strip()
    host = key.target.name
    if key.become and status != NO_PYTHON:
        hint = (
            "permit it without a password (nopass): doas asks for one only at a terminal"
            if key.become.method == "doas"
            else "check the password"
            if key.become.password
            else "set PLAYRUNNER_BECOME_PASSWORD, or use --ask-become-pass, if it needs a password"
        )
        return StepFailed(
            f"{host}: {key.become.method} to {key.become.user} was refused: {last_lines(stderr)};"
            f" {hint}"
        )
    if status == NO_PYTHON:
        python = key.target.python or "python3"
        return NoInterpreter(
            f'{host} has no {python}; install it ("{program()} run {host} --module raw --args ..."'
            " works without it), or set ansible_python_interpreter",
            python,
        )
    return HostUnreachable(
        f"{host}: the agent did not start (status {status}): {last_lines(stderr)}"
    )


def last_lines(text: str) -> str:
    lines = [line.strip()[:SHOWN_CHARACTERS] for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-3:]) or "no error output"
