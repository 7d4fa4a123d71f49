"""train.node: what a node has for training: interpreter and packages, devices, disk, clock, ports,
and who else is at work."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed, Probe
from playrunner.training.modules.train import _devices, _processes, _runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


# The names of installed packages' folders tell their versions; importing what Python has for it
# takes five times as long.
_ASK = """
import os, sys
found = {}
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.endswith((".dist-info", ".egg-info")):
            package, _, version = name.rpartition(".")[0].partition("-")
            found.setdefault(package.lower().replace("_", "-"), version.partition("-")[0])
print(sys.version.split()[0])
for name in sys.argv[1:]:
    print(name, found.get(name, ""))
sys.stdout.flush()
os._exit(0)  # nothing has to be freed, which would take a tenth of the time
"""


class Node(Probe):
    """What a node has for training: interpreter, packages, devices, disk, clock, ports, other
    runs."""

    answers = {
        "time": float,
        "cores": int,
        "python": str,
        "packages": dict,
        "devices": {"kind": str, "count": int},
        "holders": [{"pid": int, "mib": float, "name": str}],
        "free_gib": float,
        "root": str,
        "writable": bool,
        "interface": str,
        "job_folder": bool,
        "busy_ports": [int],
        "checkpoints": [str],
        "occupants": [str],
        "known": bool,
    }

    root: str  # the folder of runs and code
    python: str  # the interpreter that will train
    host: str  # the node's name in the run
    run: str = ""  # this run's name; others that run count as occupants
    packages: list[str] = ["torch"]  # whose versions to tell
    peer: str = ""  # another node's address: the interface that leads there is returned
    listen: str = ""  # this node's own address, when it must listen
    ports: list[int] = []  # that must be free there

    def look(self, ctx: HostContext) -> dict[str, Any]:
        root = os.path.expanduser(self.root)
        runs = _runs.all_runs(root, self.host)
        return {
            "time": time.time(),
            "cores": (
                len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
            ),
            **self._python(ctx),
            "devices": _devices.devices(ctx),
            "holders": self._holders(ctx, root),
            "free_gib": _free_gib(root),
            "root": root,
            "writable": _writable(root),
            "interface": _interface(self.peer),
            # Where DeepSpeed looks for a hostfile; a folder that is not there is not made in the
            # file system's root.
            "job_folder": os.path.isdir("/job") and os.access("/job", os.W_OK),
            "busy_ports": [port for port in self.ports if not _is_free(self.listen, port)],
            "checkpoints": (
                _runs.checkpoints(os.path.join(root, "runs", self.run)) if self.run else []
            ),
            "occupants": [
                run["name"] for run in runs if run["name"] != self.run and _runs.is_running(run)
            ],
            "known": any(run["name"] == self.run for run in runs),
        }

    def _holders(self, ctx: HostContext, root: str) -> list[dict[str, Any]]:
        """Who is on the devices already, this run aside: it is stopped before it is started
        again."""
        own = (
            str(
                _runs.supervisor_of(os.path.join(root, "runs", self.run), self.host).get("mark", "")
            )
            if self.run
            else ""
        )
        return [
            {**each, "name": _processes.name(each["pid"])}
            for each in _devices.holders(ctx)
            if not own or _processes.environment(each["pid"]).get("PLAYRUNNER_RUN") != own
        ]

    def _python(self, ctx: HostContext) -> dict[str, Any]:
        python = os.path.expanduser(self.python)
        try:
            ran = ctx.run([python, "-c", _ASK, *self.packages], timeout=60)
        except OSError as error:
            raise Failed(
                f"{python} cannot be run: {error.strerror}; set train_python to the interpreter"
                " with torch"
            ) from None
        if ran.rc:
            raise Failed(f"{python} does not work: {ran.err.strip()[-300:]}")
        version, *packages = ran.out.splitlines()
        return {
            "python": version,
            "packages": {
                name: given for name, _, given in (line.partition(" ") for line in packages)
            },
        }


def _existing(path: str) -> str:
    while path and not os.path.isdir(path):
        path = os.path.dirname(path)
    return path or "/"


def _free_gib(root: str) -> float:
    there = os.statvfs(_existing(root))
    return round(there.f_bavail * there.f_frsize / 2**30, 2)


def _writable(root: str) -> bool:
    return os.access(_existing(root), os.W_OK)


def _interface(peer: str) -> str:
    """The interface that leads to another node."""
    import _socket as socket  # `socket` itself is slow to import

    if not peer:
        return ""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect((peer, 9))  # sends nothing: the kernel only picks the way
        own = probe.getsockname()[0]
        for _, name in socket.if_nameindex():
            if _address_of(name, probe.fileno()) == own:
                return name
    except OSError:
        return ""
    finally:
        probe.close()
    return "lo" if own.startswith("127.") else ""


def _address_of(interface: str, fd: int) -> str:
    import _socket as socket
    import fcntl

    try:
        packed = fcntl.ioctl(fd, 0x8915, interface.encode()[:15].ljust(256, b"\0"))  # SIOCGIFADDR
    except OSError:
        return ""
    return socket.inet_ntoa(packed[20:24])


def _is_free(address: str, port: int) -> bool:
    import _socket as socket

    probe = socket.socket()
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
    except OSError:
        return False
    finally:
        probe.close()
    return True
