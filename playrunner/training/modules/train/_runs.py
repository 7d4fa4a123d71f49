"""The runs a node knows of: read from their folders, told from leftovers by the supervisor of
each."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ENDED_FILE = "ended.json"
ENDED = ("finished", "failed", "stopped", "lost")


def running(root: str, host: str) -> list[dict[str, Any]]:
    return [run for run in all_runs(root, host) if is_running(run)]


def is_running(run: dict[str, Any]) -> bool:
    return run["supervisor"].get("state") in ("running", "stopping")


def all_runs(root: str, host: str) -> list[dict[str, Any]]:
    """Every run with a part on this node, each with its name and what its supervisor reports."""
    folder = os.path.join(root, "runs")
    runs = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        supervisor = supervisor_of(os.path.join(folder, name), host)
        if supervisor:
            runs.append({"name": name, "supervisor": supervisor})
    return runs


def supervisor_of(folder: str, host: str) -> dict[str, Any]:
    """What the supervisor last reported; `lost` when it is gone without having reported how it
    ended."""
    own = os.path.join(folder, "nodes", host)
    # Version 0.1 wrote keeper.json; runs from before an upgrade stay listed and can be stopped.
    supervisor = read_json(os.path.join(own, "supervisor.json")) or read_json(
        os.path.join(own, "keeper.json")
    )
    if supervisor.get("state") in ("running", "stopping") and not is_alive(supervisor):
        supervisor["state"] = "lost"
        supervisor["reason"] = (
            "this node's supervisor died without a report (killed, or the node restarted)"
        )
    return supervisor


def is_alive(supervisor: dict[str, Any]) -> bool:
    """Whether the process that wrote this is still there: same machine, same boot, same start."""
    import _socket as socket

    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        with open(f"/proc/{int(supervisor['pid'])}/stat", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, KeyError, ValueError):
        return False
    same = supervisor.get("machine") == socket.gethostname() and supervisor.get("boot") == boot
    return same and fields[0] != "Z" and fields[19] == supervisor.get("started")


def marked(mark: str) -> list[int]:
    """Every living process of a run on this node, by the mark in its environment."""
    wanted, pids = f"PLAYRUNNER_RUN={mark}".encode(), []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        pids.append(int(name))
            except OSError:
                continue
    return pids


def checkpoints(folder: str) -> list[str]:
    """A run's complete checkpoints, oldest first."""
    place = os.path.join(folder, "output", "checkpoints")
    if not os.path.isdir(place):
        return []
    if read_json(os.path.join(folder, "run.json")).get("script"):
        return _of_script(place)
    whole = [
        name
        for name in os.listdir(place)
        if os.path.exists(os.path.join(place, name, "complete.json"))
    ]
    return sorted(whole, key=lambda name: int("".join(filter(str.isdigit, name)) or 0))


def _of_script(place: str) -> list[str]:
    """What a script of the user's own has saved, oldest first: only it knows what is complete."""
    names = [name for name in os.listdir(place) if not name.startswith(".")]
    return sorted(names, key=lambda name: os.path.getmtime(os.path.join(place, name)))


def size_of(path: str) -> int:
    """The bytes of a file, or of all files below a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path) if os.path.exists(path) else 0
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(path)
        for name in names
    )


def checkpoint_bytes(folder: str) -> dict[str, int]:
    """The size of each complete checkpoint, by what its own list of files says."""
    sizes = {}
    for name in checkpoints(folder):
        path = os.path.join(folder, "output", "checkpoints", name)
        if not os.path.exists(os.path.join(path, "complete.json")):
            sizes[name] = size_of(path)
            continue
        marker = read_json(os.path.join(path, "complete.json"))
        files = marker.get("files")
        listed = files.values() if isinstance(files, dict) else ()
        sizes[name] = sum(file[0] for file in listed if file and isinstance(file[0], int))
    return sizes


def note_ended(folder: str, host: str, started: dict[str, str]) -> None:
    """Write down which processes are about to be ended: pid to the time it started."""
    import json

    with open(os.path.join(folder, "nodes", host, _ENDED_FILE), "w") as file:
        json.dump(started, file)


def ended(folder: str, host: str) -> dict[str, str]:
    """The processes that were stopped here last."""
    return read_json(os.path.join(folder, "nodes", host, _ENDED_FILE))


def read_json(path: str) -> dict[str, Any]:
    try:
        with open(path) as file:
            # Imported where there is something to read: it is slow, and a preflight may do without
            import json

            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def at_home(value: Any) -> Any:
    """The same with ~ spelled out, which only the node can do."""
    if isinstance(value, dict):
        return {key: at_home(each) for key, each in value.items()}
    if isinstance(value, list):
        return [at_home(each) for each in value]
    return os.path.expanduser(value) if isinstance(value, str) and value.startswith("~/") else value
