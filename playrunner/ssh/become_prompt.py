"""Commands that run as another user on a host, and the password that sudo or su asks for."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shlex
import threading
from collections.abc import Callable
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import StepFailed
from playrunner.ssh.agent_code import AgentKey, as_user
from playrunner.ssh.connection import Channel
from playrunner.ssh.pool import Pool
from playrunner.ssh.targets import Become, Target

# How su asks for a password in the languages of its translations
_PASSWORD = (
    "Password", "Adgangskode", "Contraseña", "Contrasenya", "Hasło", "Heslo", "Jelszó",
    "Lösenord", "Mật khẩu", "Mot de passe", "Parola", "Parool", "Pasahitza", "Passord",
    "Passwort", "Salasana", "Sandi", "Senha", "Wachtwoord", "Лозинка", "Парола", "Пароль",
    "ססמה", "गुप्तशब्द", "शब्दकूट", "సంకేతపదము", "හස්පදය", "암호", "パスワード", "密码", "密碼", "口令",
)  # fmt: skip


def is_logged_in(target: Target, user: str) -> bool:
    """Whether the connection is this user's own, which makes sudo and
    its like needless. Only settings are compared; `become_allow_same_user` has it done anyway."""
    if ansible_config().get("become_allow_same_user"):
        return False
    if target.kind != "local":
        return user == target.login
    try:
        return user == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a user without a name, as in some containers
        return False


def su_prompts(value: Any) -> tuple[str, ...]:
    """The setting `su_prompt_l10n`: a list, or words with commas between them."""
    words = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return tuple(text for word in words if (text := str(word).strip()))


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
    prompt, asked = _prompt(become, marker), 0
    while not started.wait(0.02):  # a prompt on standard error has no event to wait for
        prompts = len(prompt.findall(channel.stderr_text()))
        if prompts <= asked:
            continue
        if asked and refused:
            refused.set()
        try:
            channel.send(b"\n" if asked else become.password.encode() + b"\n")
        except (OSError, EOFError, ValueError):
            return  # it has ended; the thread that waits for its start gets the error
        asked = prompts


def _prompt(become: Become, marker: str) -> re.Pattern[str]:
    if become.method == "sudo":
        return re.compile(re.escape(marker))
    words = "|".join(map(re.escape, become.prompts or _PASSWORD))
    return re.compile(rf"(?:{words})\s*[:\uff1a]", re.IGNORECASE)


_SU_REFUSES = re.compile("Authentication failure|incorrect password")
