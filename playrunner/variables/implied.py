"""Connection variables that a step sees though nobody set them, such as `ansible_host`.

They have the value that the step's connection uses: that of the host, or of the one that the step
is delegated to. Only templates of steps see them; `hostvars` and connection settings do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.config.ansible_config import ansible_config
from playrunner.variables.template_scope import MISSING

if TYPE_CHECKING:
    from playrunner.variables.scope import Scope

# Each with the other name of the same setting, and the keyword and configuration that give it
_OTHER_NAMES = {
    "ansible_host": ("ansible_ssh_host", "", ""),
    "ansible_ssh_host": ("ansible_host", "", ""),
    "ansible_port": ("ansible_ssh_port", "port", "remote_port"),
    "ansible_ssh_port": ("ansible_port", "port", "remote_port"),
    "ansible_user": ("ansible_ssh_user", "remote_user", "remote_user"),
    "ansible_ssh_user": ("ansible_user", "remote_user", "remote_user"),
    "ansible_connection": ("", "connection", "transport"),
}
IMPLIED = frozenset(_OTHER_NAMES)


def implied_value(scope: Scope, name: str) -> Any:
    """The value of such a variable that is not set; MISSING where the connection has none."""
    if scope.step is None:
        return MISSING
    other, word, configured = _OTHER_NAMES[name]
    delegated = scope.local.get("ansible_delegated_vars")
    delegate, settings = next(iter(delegated.items())) if delegated else (scope.host, {})
    if other and (value := scope.given(other)) is not MISSING:
        return value
    for spelled in (name, other):
        if settings.get(spelled) is not None:
            return settings[spelled]
    written = getattr(scope.step.keywords, word, None) if word else None
    if written is not None:
        return scope.run_vars.templar.render(written, scope)
    if name in ("ansible_host", "ansible_ssh_host"):
        return delegate
    default = "ssh" if name == "ansible_connection" else MISSING
    return ansible_config().get(configured, default) if configured else default
