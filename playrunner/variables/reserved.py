"""Names of Ansible's own that a variable should not have: keywords of plays, roles, blocks and
tasks, and functions of templates."""

from __future__ import annotations

from collections.abc import Iterable

# As ansible-core 2.19 has them. `vars` is among its own, but it never warns of it
_WRITTEN = """
action always any_errors_fatal args async async_val become become_exe become_flags
become_method become_user block changed_when check_mode collections connection cycler
debugger delay delegate_facts delegate_to dict diff environment fact_path failed_when
force_handlers gather_facts gather_timeout handlers hosts ignore_errors ignore_unreachable
joiner lipsum local_action lookup loop loop_control loop_with max_fail_percentage
module_defaults name namespace no_log notify now omit order poll port post_tasks pre_tasks q
query range register remote_user rescue retries roles run_once serial strategy tags tasks
throttle timeout undef until vars_files vars_prompt when with_
"""
RESERVED_NAMES = frozenset(_WRITTEN.split())


def reserved_among(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in RESERVED_NAMES)
