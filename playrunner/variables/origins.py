"""Settings of connections and clouds: only the author of a playbook or inventory may give them, no
host may.

Facts with the name of such a setting are ignored. An author may pass on a value of a host or a
service (such as the address of a new machine), but only for settings where a plain word can do no
harm, and only as a plain word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from playrunner.errors import BadInput
from playrunner.text.written import is_template
from playrunner.variables.keyword_text import rendered_keyword
from playrunner.variables.magic import MAGIC_VARIABLES
from playrunner.variables.scope import Scope, TracedScope
from playrunner.variables.templating import MISSING

# An address, a port, a user's name, or `user@address:port`.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:%@\[\]-]*")
_PASSED_ON = frozenset(
    {
        "ansible_host",
        "ansible_ssh_host",
        "ansible_port",
        "ansible_ssh_port",
        "ansible_user",
        "ansible_ssh_user",
        "ansible_become_user",
        "ansible_timeout",
        "ansible_ssh_timeout",
        "ansible_become",
        "ansible_docker_host",
        "ansible_podman_host",
        "ansible_kubectl_pod",
        "ansible_kubectl_container",
        "ansible_kubectl_namespace",
        "via",
    }
)
# Among the settings of clouds: a kubeconfig names programs to run, an endpoint gets credentials.
_FILES_AND_SERVICES = ("kubeconfig", "_file", "_url", "_path", "_args")
_SECRETS = frozenset(
    {
        "ansible_password",
        "ansible_ssh_pass",
        "ansible_ssh_password",
        "ansible_become_password",
        "ansible_become_pass",
        "ansible_sudo_pass",
        "ansible_su_pass",
        "ansible_doas_pass",
    }
)

# Names of settings by their class, so that one which a later version reads is already among them.
_EXACT = frozenset(
    {
        "ansible_connection",
        "ansible_host",
        "ansible_port",
        "ansible_user",
        "ansible_password",
        "ansible_timeout",
        "ansible_private_key_file",
        "ansible_remote_tmp",
        "ansible_remote_user",
        "ansible_async_dir",
        "ansible_executable",
        "ansible_module_compression",
        "ansible_pipelining",
        "ansible_managed",
        "ansible_limit",
        "ansible_check_mode",
        "ansible_facts",
        "ansible_local_tmp",
        "ansible_delegated_vars",
        "ansible_failed_task",
        "ansible_failed_result",
        "via",
    }
)
_PREFIXES = (
    "ansible_ssh_",
    "ansible_become",
    "ansible_shell_",
    "ansible_paramiko_",
    "ansible_sudo",
    "ansible_su_",
    "ansible_doas_",
    "ansible_connection_",
    "ansible_scp_",
    "ansible_sftp_",
    "ansible_winrm_",
    "ansible_psrp_",
    "ansible_docker_",
    "ansible_podman_",
    "ansible_kubectl_",
    "ansible_network_",
    "ansible_persistent_",
    "ansible_control_",
    "ansible_host_key_",
    "ansible_play",
    "ansible_inventory_",
    "ansible_search_",
    "ansible_role_",
    "ansible_run_",
    "ansible_loop",
    "ansible_index_",
    "ansible_discovered_interpreter",
    "discovered_interpreter",
    "inventory_",
    "playbook_",
    "role_",
)
_FACTS_ALL_THE_SAME = ("ansible_ssh_host_key_",)  # public keys, which setup gathers


def named_facts(facts: Mapping[str, Any], plain: tuple[str, ...]) -> dict[str, Any]:
    """The facts of a host under the names they are read by: `ansible_` comes first, except for
    those that their module gives under names of its own (patterns)."""
    return {
        name
        if name.startswith("ansible_") or any(fnmatchcase(name, pattern) for pattern in plain)
        else f"ansible_{name}": value
        for name, value in facts.items()
    }


@lru_cache(maxsize=4096)  # every host has the same facts
def is_setting(name: str) -> bool:
    """Whether a name is a setting of connections or of the runner, so that no fact may have it."""
    if name.startswith(_FACTS_ALL_THE_SAME) and name != "ansible_ssh_host_key_checking":
        return False
    return (
        name in _EXACT
        or name in MAGIC_VARIABLES
        or name.startswith(_PREFIXES)
        or name.endswith("_interpreter")
        or name == "ansible_su"
    )


def without_settings(facts: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Facts that may be taken, and the names of those that may not."""
    kept = {name: value for name, value in facts.items() if not is_setting(name)}
    return kept, [name for name in facts if name not in kept]


def setting(scope: Scope, name: str, traced: TracedScope | None = None) -> Any:
    """The value of a setting; MISSING where there is none. `traced` is the scope's, when it was
    made already and has noted nothing: what it has rendered is not rendered again."""
    if not scope.may_define(name):
        return MISSING
    traced = scope.traced() if traced is None or traced.foreign else traced
    return _checked(name, traced.given(name), traced.foreign, scope.host)


def keyword(scope: Scope, name: str, written: Any) -> Any:
    """The same for one that a keyword of the play gives, such as `remote_user`."""
    if not is_template(written):
        return written
    traced = scope.traced()
    return _checked(name, rendered_keyword(written, traced), traced.foreign, scope.host)


def _checked(name: str, value: Any, foreign: list[str], host: str) -> Any:
    if (
        not foreign
        or value is MISSING
        or value is None
        or isinstance(value, bool)
        or value == ""
        or name in _SECRETS
    ):
        return value
    source = (
        f'host {host}: {name} is made of "{foreign[0]}", which no playbook, inventory or command'
        " line wrote"
    )
    if name not in _PASSED_ON and (
        name.startswith("ansible_") or name.endswith(_FILES_AND_SERVICES)
    ):
        raise BadInput(
            f"{source}: a host or a service could choose what runs here; write the value itself"
        )
    if not _PLAIN_WORD.fullmatch(str(value)):
        raise BadInput(
            f"{source}; it may only be a plain word such as an address or a name, not {value!r:.80}"
        )
    return value
