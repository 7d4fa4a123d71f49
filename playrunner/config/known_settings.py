"""The settings of ansible.cfg and ANSIBLE_* that have a meaning here, by the name in the file."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """How the text of a setting is read; `what` is said when it cannot be."""

    name: str
    what: str


TEXT = Kind("text", "text")
FLAG = Kind("flag", "yes or no")
NUMBER = Kind("number", "a whole number")
PATH = Kind("path", "a path")
PATHS = Kind("paths", "paths with : between them")
SOURCES = Kind("sources", "paths with , between them")
WORDS = Kind("words", "words with , between them")


class KnownSetting(NamedTuple):
    """One setting: its kind, the variable that overrides the file, and its section in the file."""

    kind: Kind
    variable: str = ""
    section: str = "defaults"
    key: str = ""  # in the file, where it is not the setting's name
    choices: tuple[str, ...] = ()


def _in_become(kind: Kind, variable: str) -> KnownSetting:
    return KnownSetting(kind, variable, "privilege_escalation")


def _in_ssh(kind: Kind, variable: str) -> KnownSetting:
    return KnownSetting(kind, variable, "ssh_connection")


KNOWN_SETTINGS: dict[str, KnownSetting] = {
    # Where things are
    "inventory": KnownSetting(SOURCES, "ANSIBLE_INVENTORY"),
    "roles_path": KnownSetting(PATHS, "ANSIBLE_ROLES_PATH"),
    "collections_path": KnownSetting(PATHS, "ANSIBLE_COLLECTIONS_PATH"),
    "plugin_filters_cfg": KnownSetting(PATH, "ANSIBLE_PLUGIN_FILTERS_CFG"),
    "library": KnownSetting(PATHS, "ANSIBLE_LIBRARY"),
    "module_utils": KnownSetting(PATHS, "ANSIBLE_MODULE_UTILS"),
    **{
        f"{kind}_plugins": KnownSetting(PATHS, f"ANSIBLE_{kind.upper()}_PLUGINS")
        for kind in (
            "action",
            "become",
            "cache",
            "callback",
            "connection",
            "filter",
            "inventory",
            "lookup",
            "strategy",
            "test",
            "vars",
        )
    },
    # How inventories are read
    "force_valid_group_names": KnownSetting(
        TEXT,
        "ANSIBLE_TRANSFORM_INVALID_GROUP_CHARS",
        choices=("always", "never", "ignore", "silently"),
    ),
    "inventory_use_extra_vars": KnownSetting(
        FLAG, "ANSIBLE_INVENTORY_USE_EXTRA_VARS", "inventory_plugins", "use_extra_vars"
    ),
    # Vault
    "vault_password_file": KnownSetting(PATH, "ANSIBLE_VAULT_PASSWORD_FILE"),
    "vault_identity_list": KnownSetting(WORDS, "ANSIBLE_VAULT_IDENTITY_LIST"),
    "vault_identity": KnownSetting(TEXT, "ANSIBLE_VAULT_IDENTITY"),
    "vault_encrypt_identity": KnownSetting(TEXT, "ANSIBLE_VAULT_ENCRYPT_IDENTITY"),
    "vault_id_match": KnownSetting(FLAG, "ANSIBLE_VAULT_ID_MATCH"),
    "ask_vault_pass": KnownSetting(FLAG, "ANSIBLE_ASK_VAULT_PASS"),
    # How hosts are reached
    "remote_user": KnownSetting(TEXT, "ANSIBLE_REMOTE_USER"),
    "remote_port": KnownSetting(NUMBER, "ANSIBLE_REMOTE_PORT"),
    "private_key_file": KnownSetting(PATH, "ANSIBLE_PRIVATE_KEY_FILE"),
    "timeout": KnownSetting(NUMBER, "ANSIBLE_TIMEOUT"),
    "transport": KnownSetting(TEXT, "ANSIBLE_TRANSPORT"),
    "host_key_checking": KnownSetting(FLAG, "ANSIBLE_HOST_KEY_CHECKING"),
    "interpreter_python": KnownSetting(TEXT, "ANSIBLE_PYTHON_INTERPRETER"),
    "ssh_args": _in_ssh(TEXT, "ANSIBLE_SSH_ARGS"),
    "ssh_common_args": _in_ssh(TEXT, "ANSIBLE_SSH_COMMON_ARGS"),
    "ssh_extra_args": _in_ssh(TEXT, "ANSIBLE_SSH_EXTRA_ARGS"),
    "ssh_host_key_checking": KnownSetting(
        FLAG, "ANSIBLE_SSH_HOST_KEY_CHECKING", "ssh_connection", "host_key_checking"
    ),
    # Who runs steps
    "become": _in_become(FLAG, "ANSIBLE_BECOME"),
    "become_user": _in_become(TEXT, "ANSIBLE_BECOME_USER"),
    "become_method": _in_become(TEXT, "ANSIBLE_BECOME_METHOD"),
    "become_flags": _in_become(TEXT, "ANSIBLE_BECOME_FLAGS"),
    "become_exe": _in_become(TEXT, "ANSIBLE_BECOME_EXE"),
    "become_allow_same_user": _in_become(FLAG, "ANSIBLE_BECOME_ALLOW_SAME_USER"),
    "su_prompt_l10n": KnownSetting(
        WORDS, "ANSIBLE_SU_PROMPT_L10N", "su_become_plugin", "localized_prompts"
    ),
    "become_password": KnownSetting(TEXT, "ANSIBLE_BECOME_PASS", "sudo_become_plugin", "password"),
    "become_ask_pass": _in_become(FLAG, "ANSIBLE_BECOME_ASK_PASS"),
    "become_password_file": KnownSetting(PATH, "ANSIBLE_BECOME_PASSWORD_FILE"),
    # How plays run
    "forks": KnownSetting(NUMBER, "ANSIBLE_FORKS"),
    "keep_connections": KnownSetting(
        TEXT, "PLAYRUNNER_CONNECTIONS_KEEP", "connections", "keep"
    ),  # ours alone; Ansible passes over a section it does not know
    "strategy": KnownSetting(TEXT, "ANSIBLE_STRATEGY"),
    "force_handlers": KnownSetting(FLAG, "ANSIBLE_FORCE_HANDLERS"),
    "any_errors_fatal": KnownSetting(FLAG, "ANSIBLE_ANY_ERRORS_FATAL"),
    "gathering": KnownSetting(TEXT, "ANSIBLE_GATHERING", choices=("implicit", "explicit", "smart")),
    "fact_caching": KnownSetting(TEXT, "ANSIBLE_CACHE_PLUGIN"),
    "fact_caching_connection": KnownSetting(TEXT, "ANSIBLE_CACHE_PLUGIN_CONNECTION"),
    "fact_caching_prefix": KnownSetting(TEXT, "ANSIBLE_CACHE_PLUGIN_PREFIX"),
    "fact_caching_timeout": KnownSetting(NUMBER, "ANSIBLE_CACHE_PLUGIN_TIMEOUT"),
    "task_timeout": KnownSetting(NUMBER, "ANSIBLE_TASK_TIMEOUT"),
    "poll_interval": KnownSetting(NUMBER, "ANSIBLE_POLL_INTERVAL"),
    "error_on_missing_handler": KnownSetting(FLAG, "ANSIBLE_ERROR_ON_MISSING_HANDLER"),
    "no_log": KnownSetting(FLAG, "ANSIBLE_NO_LOG"),
    "module_name": KnownSetting(TEXT),
    "run_tags": KnownSetting(WORDS, "ANSIBLE_RUN_TAGS", "tags", "run"),
    "skip_tags": KnownSetting(WORDS, "ANSIBLE_SKIP_TAGS", "tags", "skip"),
    "log_path": KnownSetting(PATH, "ANSIBLE_LOG_PATH"),
    "show_custom_stats": KnownSetting(FLAG, "ANSIBLE_SHOW_CUSTOM_STATS"),
    # Variables and templates
    "duplicate_dict_key": KnownSetting(
        TEXT, "ANSIBLE_DUPLICATE_YAML_DICT_KEY", choices=("error", "warn", "ignore")
    ),
    "hash_behaviour": KnownSetting(TEXT, "ANSIBLE_HASH_BEHAVIOUR", choices=("replace", "merge")),
    "private_role_vars": KnownSetting(FLAG, "ANSIBLE_PRIVATE_ROLE_VARS"),
    "inject_facts_as_vars": KnownSetting(FLAG, "ANSIBLE_INJECT_FACT_VARS"),
    "jinja2_extensions": KnownSetting(WORDS, "ANSIBLE_JINJA2_EXTENSIONS"),
    "ansible_managed": KnownSetting(TEXT),
    # What is shown
    "verbosity": KnownSetting(NUMBER, "ANSIBLE_VERBOSITY"),
    "diff_always": KnownSetting(FLAG, "ANSIBLE_DIFF_ALWAYS", "diff", "always"),
    "nocolor": KnownSetting(FLAG, "ANSIBLE_NOCOLOR"),
    "force_color": KnownSetting(FLAG, "ANSIBLE_FORCE_COLOR"),
    "callbacks_enabled": KnownSetting(WORDS, "ANSIBLE_CALLBACKS_ENABLED"),
    "stdout_callback": KnownSetting(TEXT, "ANSIBLE_STDOUT_CALLBACK"),
}
