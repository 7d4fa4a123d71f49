"""lookup('config'): settings of ansible.cfg and ANSIBLE_* by the names that Ansible gives them."""

from __future__ import annotations

import os
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.variables.lookups.external import external_lookup
from playrunner.variables.lookups.lookup_scope import LookupScope

_UNTIL_SET = {
    "ANSIBLE_FORCE_COLOR": ("force_color", False),
    "ANSIBLE_NOCOLOR": ("nocolor", False),
    "ANY_ERRORS_FATAL": ("any_errors_fatal", False),
    "BECOME_ALLOW_SAME_USER": ("become_allow_same_user", False),
    "BECOME_PASSWORD_FILE": ("become_password_file", None),
    "CALLBACKS_ENABLED": ("callbacks_enabled", []),
    "DEFAULT_ASK_VAULT_PASS": ("ask_vault_pass", False),
    "DEFAULT_BECOME": ("become", False),
    "DEFAULT_BECOME_ASK_PASS": ("become_ask_pass", False),
    "DEFAULT_BECOME_EXE": ("become_exe", None),
    "DEFAULT_BECOME_FLAGS": ("become_flags", ""),
    "DEFAULT_BECOME_METHOD": ("become_method", "sudo"),
    "DEFAULT_BECOME_USER": ("become_user", "root"),
    "DEFAULT_FORCE_HANDLERS": ("force_handlers", False),
    "DEFAULT_FORKS": ("forks", 5),
    "DEFAULT_GATHERING": ("gathering", "implicit"),
    "DEFAULT_HASH_BEHAVIOUR": ("hash_behaviour", "replace"),
    "DEFAULT_HOST_LIST": ("inventory", ["/etc/ansible/hosts"]),
    "DEFAULT_JINJA2_EXTENSIONS": ("jinja2_extensions", []),
    "DEFAULT_MANAGED_STR": ("ansible_managed", "Ansible managed"),
    "DEFAULT_MODULE_NAME": ("module_name", "command"),
    "DEFAULT_NO_LOG": ("no_log", False),
    "DEFAULT_POLL_INTERVAL": ("poll_interval", 15),
    "DEFAULT_PRIVATE_KEY_FILE": ("private_key_file", None),
    "DEFAULT_PRIVATE_ROLE_VARS": ("private_role_vars", False),
    "DEFAULT_REMOTE_PORT": ("remote_port", None),
    "DEFAULT_REMOTE_USER": ("remote_user", None),
    "DEFAULT_STDOUT_CALLBACK": ("stdout_callback", "default"),
    "DEFAULT_STRATEGY": ("strategy", "linear"),
    "DEFAULT_TIMEOUT": ("timeout", 10),
    "DEFAULT_TRANSPORT": ("transport", "ssh"),
    "DEFAULT_VAULT_ENCRYPT_IDENTITY": ("vault_encrypt_identity", None),
    "DEFAULT_VAULT_IDENTITY": ("vault_identity", "default"),
    "DEFAULT_VAULT_IDENTITY_LIST": ("vault_identity_list", []),
    "DEFAULT_VAULT_ID_MATCH": ("vault_id_match", False),
    "DEFAULT_VAULT_PASSWORD_FILE": ("vault_password_file", None),
    "DEFAULT_VERBOSITY": ("verbosity", 0),
    "DIFF_ALWAYS": ("diff_always", False),
    "HOST_KEY_CHECKING": ("host_key_checking", True),
    "INJECT_FACTS_AS_VARS": ("inject_facts_as_vars", True),
    "INTERPRETER_PYTHON": ("interpreter_python", "auto"),
    "SHOW_CUSTOM_STATS": ("show_custom_stats", False),
    "TAGS_RUN": ("run_tags", []),
    "TAGS_SKIP": ("skip_tags", []),
    "TASK_TIMEOUT": ("task_timeout", 0),
    "TRANSFORM_INVALID_GROUP_CHARS": ("force_valid_group_names", "never"),
}
# Lists of folders: the user's, then the machine's
_FOLDERS = {
    "DEFAULT_ROLES_PATH": ("roles_path", "roles"),
    "COLLECTIONS_PATHS": ("collections_path", "collections"),
    "DEFAULT_MODULE_PATH": ("library", "plugins/modules"),
    "DEFAULT_MODULE_UTILS_PATH": ("module_utils", "plugins/module_utils"),
    **{
        f"DEFAULT_{kind.upper()}_PLUGIN_PATH": (f"{kind}_plugins", f"plugins/{kind}")
        for kind in ("action", "callback", "filter", "inventory", "lookup", "test", "vars")
    },
}


def config(
    terms: list[Any],
    scope: LookupScope,
    on_missing: str = "error",
    show_origin: bool = False,
    plugin_type: str | None = None,
    plugin_name: str | None = None,
) -> list[Any]:
    """The values of settings, or their defaults. Settings that mean nothing here, and those of
    plugins, are ansible-core's to tell where it is installed."""
    known = [term for term in terms if term in _UNTIL_SET or term in _FOLDERS]
    others = external_lookup("ansible.builtin.config")
    if others and (plugin_type or plugin_name or len(known) < len(terms)):
        plugin = {"plugin_type": plugin_type, "plugin_name": plugin_name} if plugin_type else {}
        return others(terms, scope, on_missing=on_missing, show_origin=show_origin, **plugin)
    if plugin_type or plugin_name:
        raise ValueError("settings of plugins are not known here; leave plugin_type out")
    if on_missing not in ("error", "skip", "warn"):
        raise ValueError(f"on_missing must be error, warn or skip, not {on_missing}")
    values = []
    for term in terms:
        if not isinstance(term, str):
            raise ValueError(f"Invalid setting identifier, {term!r} is not a string")
        if term in _UNTIL_SET or term in _FOLDERS:
            value, origin = _value(term)
            values.append([value, origin] if show_origin else value)
        elif on_missing == "error":
            raise ValueError(f"No config definition exists for {term!r}.")
    return values


def _value(name: str) -> tuple[Any, str]:
    settings = ansible_config()
    key, default = _UNTIL_SET.get(name) or _FOLDERS[name]
    if key in settings:
        return settings.get(key), str(settings.origin(key))
    if name in _FOLDERS:
        folders = [os.path.expanduser(f"~/.ansible/{default}"), f"/usr/share/ansible/{default}"]
        return [*folders, *(["/etc/ansible/roles"] if key == "roles_path" else [])], "default"
    return default, "default"
