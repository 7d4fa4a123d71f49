"""The options of a run with the settings of ansible.cfg and ANSIBLE_*, which flags override."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from playrunner.errors import BadInput
from playrunner.options import Options

if TYPE_CHECKING:
    from playrunner.config.ansible_config import AnsibleConfig


def configured(options: Options, typed: Container[str]) -> Options:
    """The options with the configuration's values; `typed` are the flags of the command line."""
    from playrunner.config.ansible_config import ansible_config

    config = ansible_config()
    changes = {
        "diff": options.diff or config.flag("diff_always"),
        "force_handlers": options.force_handlers or config.flag("force_handlers"),
        "verbose": options.verbose + config.get("verbosity", 0),
        "tags": options.tags or ",".join(config.words("run_tags")),
        "skip_tags": options.skip_tags or ",".join(config.words("skip_tags")),
        "become_password": options.become_password or _become_password(config),
    }
    if "forks" in config and "forks" not in typed:
        changes["forks"] = config.get("forks")
    return replace(options, **changes)


def asks_become_password() -> bool:
    """Whether the configuration wants the sudo password asked for at the start."""
    from playrunner.config.ansible_config import ansible_config

    return ansible_config().flag("become_ask_pass")


def _become_password(config: AnsibleConfig) -> str:
    if "become_password" in config:
        return config.text("become_password")
    file = config.text("become_password_file")
    return password_from(file, config) if file else ""


def password_from(file: str, config: AnsibleConfig) -> str:
    """The first line of a file, or of what it prints if it is a program."""
    import subprocess

    place = config.origin("become_password_file")
    try:
        if os.path.isfile(file) and os.access(file, os.X_OK):
            done = subprocess.run([file], capture_output=True, text=True, check=False)
            if done.returncode:
                raise BadInput(
                    f"become_password_file: {file} ended with code {done.returncode}", place
                )
            text = done.stdout
        else:
            with open(file, encoding="utf-8") as opened:
                text = opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"become_password_file: {error}", place) from None
    return text.strip("\r\n")
