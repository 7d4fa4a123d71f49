"""What is behind a target that does not pass, where the first message does not tell."""

from __future__ import annotations

_INSIDE = "looks into ansible-core: `ansible._protomatter` and its tags"
REASONS = {
    "assert": "see values-are-bound: braces in a condition bind a value",
    "async": "`parallel` of gather_facts; ansible_facts_modules is refused by name",
    "become_su": "prompts in other languages: su_prompts is not read",
    "connection_remote_is_local": "connection plugins are not loaded",
    "filter_encryption": _INSIDE,
    "gather_facts-errors": "tracebacks of ansible-core's own files",
    "inventory_script": _INSIDE,
    "lineinfile": "the machine has no setfacl",
    "module_utils_common.respawn": "a module cannot start itself under another interpreter",
    "task-args": "arguments that are text as a whole for action plugins",
    "templating": _INSIDE,
}
