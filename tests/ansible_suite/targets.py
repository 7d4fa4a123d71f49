"""The integration targets of ansible-core's sdist, and which of them this machine can run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import sources

# What a target is about when Playrunner has nothing of the kind: Ansible's own other programs and
# its Python interfaces. Such a target says nothing about playbooks.
OTHER_PROGRAMS = {
    "ansible-config", "ansible-console", "ansible-doc", "ansible-galaxy",
    "ansible-galaxy-collection", "ansible-galaxy-collection-cli",
    "ansible-galaxy-collection-scm", "ansible-galaxy-role",
    "ansible-pull", "ansible", "ansible-inventory", "ansible-vault", "adhoc", "cli",
    "entry_points", "packaging_cli-doc", "infra",
    "include_vars-ad-hoc", "lookup-option-name", "plugin_loader", "pyyaml", "deprecations",
    "protomatter", "module_utils_ansible_release", "preflight_encoding", "fork_safe_stdio",
    "dict_transformations", "module_utils_distro", "ansiballz_debug", "ansiballz_debugging",
    "ansiballz_python", "data_tagging_controller", "unexpected_executor_exception",
    "result_pickle_error", "callback-dispatch", "plugin_config_for_inventory", "config",
    "display-newline", "python_module_rlimit_nofile", "module-serialization-profiles",
    "json-serialization", "signal_propagation",
}  # fmt: skip
TOO_MUCH = {"reboot": "restarts the machine", "hostname": "renames the machine"}


@dataclass(frozen=True)
class Target:
    """One folder of test/integration/targets."""

    name: str
    folder: Path
    aliases: frozenset[str]

    @property
    def kind(self) -> str:
        return "script" if (self.folder / "runme.sh").exists() else "role"

    @property
    def gathers_facts(self) -> bool:
        return "gather_facts/no" not in self.aliases

    @property
    def setup(self) -> list[str]:
        """Roles that ansible-test runs before the target; the environment has passlib already."""
        found = {alias.rpartition("/")[2] for alias in self.aliases if alias.startswith("setup/")}
        return sorted(found - {"setup_passlib_controller"})

    @property
    def environment(self) -> dict[str, str]:
        """Variables that its aliases set."""
        found = [alias.split("/", 3) for alias in self.aliases if alias.startswith("env/set/")]
        return {words[2]: words[3] for words in found}

    def left_out(self) -> str:
        """Why it cannot run here; empty if it can."""
        aliases = self.aliases
        if self.name.startswith(("ansible-test", "win_", "setup_", "prepare_", "incidental_")):
            return "not a test of playbooks"
        if self.name in OTHER_PROGRAMS:
            return "a test of another program of Ansible"
        if self.name in TOO_MUCH:
            return TOO_MUCH[self.name]
        for alias, reason in _NEEDS.items():
            if any(own == alias or own.startswith(f"{alias}/") for own in aliases):
                return reason
        if not self.folder.joinpath("tasks").is_dir() and self.kind == "role":
            return "files for other targets"
        return ""


_NEEDS = {
    "windows": "needs Windows",
    "hidden": "files for other targets",
    "cloud": "needs a cloud",
    "network": "needs network devices",
    "disabled": "disabled by its authors",
    "unsupported": "disabled by its authors",
    "needs/httptester": "needs a web server with made-up names",
    "needs/privileged": "needs kernel modules",
}


@cache
def all_targets() -> list[Target]:
    folders = sorted(path for path in (sources.integration() / "targets").iterdir())
    return [Target(path.name, path, _aliases(path)) for path in folders if path.is_dir()]


def by_name(name: str) -> Target:
    return next(target for target in all_targets() if target.name == name)


def _aliases(folder: Path) -> frozenset[str]:
    file = folder / "aliases"
    lines = file.read_text().splitlines() if file.exists() else []
    return frozenset(line.partition("#")[0].strip() for line in lines) - {""}


def missing_programs() -> list[str]:
    return [name for name in ("unshare", "mount", "chroot") if not shutil.which(name)]
