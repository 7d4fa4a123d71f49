"""What is behind a target that does not pass, where the first message does not tell."""

from __future__ import annotations

_INSIDE = "looks into ansible-core: `ansible._protomatter` and its tags"
REASONS = {
    "assert": "see values-are-bound: braces in a condition bind a value",
    "async": "what a module in the background prints as errors is not in its result",
    "async_fail": "an action plugin of its own that breaks async_status",
    "become_su": "the wording of refused passwords; prompts in other languages",
    "become_sudo": "with the target's flags sudo refuses to ask for a password",
    "command_shell": "see unknown-in-check: the message of a command under --check",
    "connection_remote_is_local": "connection plugins are not loaded",
    "file": "`diff` of a registered result has our states, not Ansible's",
    "filter_encryption": _INSIDE,
    "gather_facts-errors": "tracebacks of ansible-core's own files",
    "inventory_script": _INSIDE,
    "lineinfile": "the machine has no setfacl",
    "lookup_first_found": "the wording of undefined variables; undefined members of a variable",
    "module_utils_common.respawn": "a module cannot start itself under another interpreter",
    "plugin_namespace": "the names under which ansible-core imports plugins",
    "task-args": "arguments that are text as a whole for action plugins",
    "templating": _INSIDE,
    "var_reserved": "variables may have these names here, so there is no warning",
}
