"""A host's connection settings: its variables, the play's keywords, and ansible.cfg, in this
order."""

from __future__ import annotations

from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.ssh.setting_value import SettingValue
from playrunner.variables.origins import keyword, setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

_NO = ("no", "false", "0", "off", "n", "f")


class HostSettings:
    """Reads the settings of one host; names are those of variables without `ansible_`."""

    def __init__(self, scope: Scope, keywords: Any = None) -> None:
        self._scope, self._keywords, self._config = scope, keywords, ansible_config()
        # Settings are often made of one variable, as of a file that is read for all of them
        self._traced = scope.traced()

    def value(self, name: str, word: str = "", default: Any = "") -> Any:
        result = setting(self._scope, f"ansible_{name}", self._traced)
        if result is MISSING and self._keywords is not None and word:
            result = getattr(self._keywords, word, None)
            result = MISSING if result is None else keyword(self._scope, f"ansible_{name}", result)
        return default if result is MISSING or result is None else result

    def variable(self, name: str, word: str = "", default: Any = "") -> SettingValue:
        return SettingValue(
            self.value(name, word, default),
            f"host {self._scope.host}: ansible_{name}",
            lambda: self._scope.origin(f"ansible_{name}"),
        )

    def first(self, *names: str, word: str = "", configured: str = "") -> SettingValue:
        """The first of several names for one setting that has a value, else the keyword's or the
        configuration's value."""
        for name in names:
            candidate = self.variable(name, word if name == names[-1] else "")
            if candidate.value != "":
                return candidate
        if configured in self._config:
            value, origin = self._config.get(configured), self._config.origin(configured)
            return SettingValue(value, configured, lambda: origin)
        return candidate

    def connection(self) -> SettingValue:
        # localhost is this machine only if the inventory does not define it.
        host = self._scope.host
        here = host == "localhost" and host not in self._scope.run_vars.inventory.hosts
        own = "local" if here else self._config.text("transport", "ssh")
        return self.variable("connection", "connection", own)

    def python(self) -> str:
        """The interpreter that is named; empty where it is to be found on the host."""
        python = str(self.value("python_interpreter") or self._config.text("interpreter_python"))
        return "" if python.startswith("auto") else python

    def unchecked_host_key(self) -> SettingValue | None:
        """The setting that turns the check of host keys off, as ssh's option for it."""
        configured = "ssh_host_key_checking"
        if configured not in self._config:
            configured = "host_key_checking"
        found = self.first("ssh_host_key_checking", "host_key_checking", configured=configured)
        return found._replace(value="no") if str(found.value).lower() in _NO else None
