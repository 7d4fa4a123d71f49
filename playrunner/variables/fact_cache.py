"""FactCache: facts of hosts kept between runs, in the files that ansible-core's `jsonfile` cache
writes and reads."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from playrunner.config.ansible_config import AnsibleConfig
from playrunner.errors import BadInput
from playrunner.text.atomic_write import write_text

DEFAULT_PREFIX = ""
DEFAULT_SECONDS = 86_400
_SCHEMA = "s1_"  # ansible-core's name for the form of the file
_PAYLOAD = "__payload__"
_GATHERED = "_ansible_facts_gathered"
_TYPE, _VALUE = "__ansible_type", "value"


class FactCache:
    """One file for each host in a folder."""

    def __init__(self, folder: Path, prefix: str, seconds: float, reads_only: bool) -> None:
        self._folder, self._prefix, self._seconds = folder, f"{prefix}{_SCHEMA}", seconds
        self._reads_only = reads_only

    def facts(self, host: str) -> dict[str, Any]:
        """What is known of the host; nothing where it is too old or cannot be read."""
        file = self._file(host)
        try:
            if self._seconds and time.time() - file.stat().st_mtime > self._seconds:
                return {}
            facts = _plain(json.loads(json.loads(file.read_text(encoding="utf-8"))[_PAYLOAD]))
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def keep(self, host: str, facts: Mapping[str, Any]) -> None:
        if self._reads_only:
            return
        kept = {**facts, **({_GATHERED: True} if is_gathered(facts) else {})}
        text = json.dumps({_PAYLOAD: json.dumps(kept, default=str)})
        self._folder.mkdir(parents=True, exist_ok=True)
        write_text(self._file(host), text, 0o600)  # facts have the host's environment

    def forget(self, hosts: Iterable[str]) -> None:
        for host in () if self._reads_only else hosts:
            self._file(host).unlink(missing_ok=True)

    def _file(self, host: str) -> Path:
        return self._folder / f"{self._prefix}{host.replace(os.sep, '_')}"


def open_fact_cache(config: AnsibleConfig, reads_only: bool) -> FactCache | None:
    """The cache that ansible.cfg or the environment asks for; None where facts end with the
    run."""
    name = config.text("fact_caching", "memory").removeprefix("ansible.builtin.")
    if name != "jsonfile":
        return None
    folder = config.text("fact_caching_connection")
    if not folder:
        raise BadInput(
            "fact_caching jsonfile needs a folder: set fact_caching_connection",
            config.origin("fact_caching"),
        )
    return FactCache(
        Path(folder).expanduser(),
        config.text("fact_caching_prefix", DEFAULT_PREFIX),
        float(config.get("fact_caching_timeout", DEFAULT_SECONDS)),
        reads_only,
    )


def is_gathered(facts: Mapping[str, Any]) -> bool:
    """Whether `setup` was among what gave these facts, rather than `set_fact` alone."""
    return "ansible_module_setup" in facts or _GATHERED in facts


def _plain(value: Any) -> Any:
    """Without the notes that ansible-core adds to values."""
    if isinstance(value, dict):
        return (
            _plain(value[_VALUE])
            if _TYPE in value and _VALUE in value
            else {name: _plain(each) for name, each in value.items()}
        )
    return [_plain(each) for each in value] if isinstance(value, list) else value
