"""What a container sees of this machine: in a mount namespace its volumes at their paths, or other
paths where that is forbidden.

Without namespaces the paths of its mounts are exchanged for the folders behind them wherever they
occur in its command, arguments, environment and ConfigMaps, and the cluster's names are found
through libnss-wrapper where it is installed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")
WITHOUT = "PLAYRUNNER_SANDBOX_NAMESPACES"  # set to `off`, as on a machine that does not allow them
_WRAPPERS = (
    "/usr/lib/*/libnss_wrapper.so",
    "/usr/lib64/libnss_wrapper.so",
    "/usr/lib/libnss_wrapper.so",
)
_NAME_SERVICES = "hosts: files\npasswd: files\ngroup: files\n"


@dataclass(frozen=True)
class Bind:
    """A volume, or a part of it, at a path of the container."""

    source: Path
    path: str
    read_only: bool = False


@dataclass(frozen=True)
class MountNamespace:
    """The surroundings of one container."""

    folder: Path  # of the pod; has `hosts`
    hostname: str
    binds: tuple[Bind, ...] = ()
    work_folder: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def command(self, command: list[str]) -> list[str]:
        """What to start for a command inside."""
        if not namespaces_allowed():
            return [self.rewritten(word) for word in command]
        return [sys.executable, "-I", "-S", str(LAUNCHER), str(self._write_launch_spec(command))]

    def variables(self) -> dict[str, str]:
        """The environment inside."""
        if namespaces_allowed():
            return self.environment
        rewritten = {name: self.rewritten(value) for name, value in self.environment.items()}
        wrapper = name_wrapper()
        if wrapper is None:
            return rewritten
        return rewritten | {"LD_PRELOAD": wrapper, "NSS_WRAPPER_HOSTS": str(self.folder / "hosts"),
                            "NSS_WRAPPER_HOSTNAME": self.hostname}  # fmt: skip

    def start_folder(self) -> Path:
        """Where to start it."""
        if namespaces_allowed():
            return self.folder
        wanted = (
            Path(self.rewritten(self.work_folder)) if self.work_folder else self.folder / "home"
        )
        try:
            wanted.mkdir(parents=True, exist_ok=True)
        except OSError:
            return self.folder / "home"
        return wanted

    def rewritten(self, text: str) -> str:
        """With the folders behind its mounts in place of their paths."""
        for bind in sorted(self.binds, key=lambda one: -len(one.path)):
            text = re.sub(
                rf"(?<![\w.-]){re.escape(bind.path)}(?![\w.-])",
                str(bind.source).replace("\\", r"\\"),
                text,
            )
        return text

    def _write_launch_spec(self, command: list[str]) -> Path:
        services = self.folder / "nsswitch.conf"
        if not services.exists():
            services.write_text(_NAME_SERVICES)
        (self.folder / "root").mkdir(exist_ok=True)
        spec = {
            "root": str(self.folder / "root"),
            "hostname": self.hostname,
            "folder": self.work_folder or "/",
            "command": command,
            "binds": [[str(bind.source), bind.path, bind.read_only] for bind in self.binds],
            "etc": {"hosts": str(self.folder / "hosts"), "nsswitch.conf": str(services)},
        }
        handle, name = tempfile.mkstemp(prefix="launch-", suffix=".json", dir=self.folder)
        with open(handle, "w") as file:
            json.dump(spec, file)
        return Path(name)


@cache
def namespaces_allowed() -> bool:
    """Whether this user may have mount namespaces here; tried once."""
    if os.environ.get(WITHOUT) == "off" or not sys.platform.startswith("linux"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        spec = {
            "root": str(root),
            "hostname": "trial",
            "folder": "/",
            "command": ["true"],
            "binds": [],
            "etc": {},
        }
        Path(folder, "spec.json").write_text(json.dumps(spec))
        trial = [sys.executable, "-I", "-S", str(LAUNCHER), f"{folder}/spec.json"]
        return subprocess.run(trial, check=False, capture_output=True).returncode == 0


@cache
def name_wrapper() -> str | None:
    """The library by which names are found without namespaces."""
    found = [one for pattern in _WRAPPERS for one in Path("/").glob(pattern.lstrip("/"))]
    return str(found[0]) if found else None


def search_path() -> str:
    """The interpreter that runs the sandbox comes first, with what is installed beside it."""
    known = os.environ.get("PATH") or os.defpath
    return os.pathsep.join([str(Path(sys.executable).parent), known])
