"""host.setup: what is known about a host, as facts."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext

GROUPS = ("hardware", "network", "virtual", "ohai", "facter")
# What `min` means: always gathered unless it is taken out by name.
LEAST = (
    "platform",
    "user",
    "python",
    "env",
    "date_time",
    "dns",
    "local",
    "lsb",
    "distribution",
    "pkg_mgr",
    "service_mgr",
    "cmdline",
    "selinux",
    "apparmor",
    "fips",
    "ssh_pub_keys",
    "caps",
    "chroot",
    "loadavg",
)
# Finer names Ansible knows, and the group here that holds them.
PARTS = {
    "interfaces": "network",
    "default_ipv4": "network",
    "default_ipv6": "network",
    "all_ipv4_addresses": "network",
    "all_ipv6_addresses": "network",
    "processor": "hardware",
    "memory": "hardware",
    "mounts": "hardware",
    "devices": "hardware",
    "processor_count": "hardware",
    "memtotal_mb": "hardware",
    "virtualization_type": "virtual",
    "virtualization_role": "virtual",
    "system": "platform",
    "architecture": "platform",
    "kernel": "platform",
    "fqdn": "platform",
    "hostname": "platform",
    "domain": "platform",
    "machine": "platform",
    "os_family": "distribution",
    "distribution_version": "distribution",
    "distribution_major_version": "distribution",
    "distribution_release": "distribution",
    "user_id": "user",
    "user_dir": "user",
    "python_version": "python",
    "is_chroot": "chroot",
    "date": "date_time",
}


class Setup(Probe):
    """What is known about the host: its system, users, hardware and networks."""

    gives_facts = True
    gather_subset: list[str] = ["all"]  # all, min, network, hardware, virtual; !NAME leaves one out
    filter: list[str] = []  # only facts whose names match these globs
    fact_path: str = "/etc/ansible/facts.d"  # where the host keeps facts of its own
    gather_timeout: int = 10  # seconds a slow fact may take
    parallel: bool | None = None  # of gather_facts, for several modules of facts; there is one here

    def look(self, ctx: HostContext) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        chosen = chosen_groups(self.gather_subset)
        from playrunner.modules.host import _facts_system

        facts.update(_facts_system.gathered(chosen, ctx))
        if "hardware" in chosen:
            from playrunner.modules.host import _facts_hardware

            facts.update(_facts_hardware.gathered())
        if "network" in chosen:
            from playrunner.modules.host import _facts_network

            facts.update(_facts_network.gathered())
        if "virtual" in chosen:
            from playrunner.modules.host import _facts_virtual

            facts.update(_facts_virtual.gathered())
        if "local" in chosen:
            from playrunner.modules.host import _facts_local

            facts["local"] = _facts_local.gathered(ctx, self.fact_path, self.gather_timeout)
        wanted = [pattern for pattern in self.filter if pattern not in ("", "*")]
        kept = {
            name: value for name, value in facts.items() if not wanted or _matches(name, wanted)
        }
        return {
            "ansible_facts": {
                **kept,
                "gather_subset": list(self.gather_subset),
                "module_setup": True,
            }
        }


def chosen_groups(subset: list[str]) -> set[str]:
    """Which groups to gather: `min` unless `!min`, and all others unless only some are named or
    `!all` is."""
    known = {*GROUPS, *LEAST, *PARTS, "all", "min"}
    names = [str(name).strip() for name in subset]
    for name in names:
        # An exclusion of what nobody knows excludes nothing.
        if not name.startswith("!") and name not in known:
            raise Failed(
                f"Bad subset '{name}' in gather_subset; it may hold {', '.join(sorted(known))}"
            )
    plus = {PARTS.get(name, name) for name in names if not name.startswith("!")}
    minus = {PARTS.get(name[1:], name[1:]) for name in names if name.startswith("!")}
    everything = set(GROUPS) | set(LEAST)
    chosen = set(plus) - {"all", "min"}
    if "all" in plus or (not plus and "all" not in minus):
        chosen |= everything - (minus - plus)
    if "min" not in minus:
        chosen |= set(LEAST) - (minus - plus)
    return chosen


def _matches(name: str, patterns: list[str]) -> bool:
    from fnmatch import fnmatchcase

    return any(
        fnmatchcase(spelled, pattern)
        for pattern in patterns
        for spelled in (name, f"ansible_{name}")
    )
