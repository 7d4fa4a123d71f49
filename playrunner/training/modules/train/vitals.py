"""train.vitals: how a run is doing on a node: what its processes do, the end of its log, and how
the machine is."""

from __future__ import annotations

import json
import os
import time

from playrunner.hostside.module import Failed, Probe
from playrunner.training.modules.train import _machine, _processes, _pulse, _runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


_LOG_BYTES = 1 << 18
_DUMP_SECONDS, _ALL_DUMPS_SECONDS = 5.0, 12.0
_MOST_FRAMES = 40
_MOST_STRANGERS = 3
_STRANGER_CORES = 0.3  # less of a core by other processes is not reported
_ENDINGS = ("finished", "failed", "stopped")


class Vitals(Probe):
    """How a run is doing on a node: its processes, the end of its log, load, memory, disk, the
    kernel's complaints."""

    answers = {"processes": [dict], "supervisor": dict, "time": float, "log": [str]}

    root: str  # the folder of runs
    host: str  # the node's name in the run
    run: str  # the run's name
    python: str = ""  # py-spy is looked for beside this interpreter too
    since: float = 0.0  # what the kernel said before this time does not count
    seconds: float = 1.0  # how long to watch the processes
    lines: int = 200  # how many of the log's last lines to return

    def look(self, ctx: HostContext) -> dict[str, Any]:
        root = os.path.expanduser(self.root)
        folder = os.path.join(root, "runs", self.run)
        own = os.path.join(folder, "nodes", self.host)
        supervisor = _runs.supervisor_of(folder, self.host)
        found = self._watched(ctx, str(supervisor.get("mark", "")), own)
        return {
            **found,
            "supervisor": supervisor,
            "time": time.time(),
            "uptime": _machine.uptime(),
            "boot": _boot(),
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "load": os.getloadavg()[0],
            "pressure": _machine.pressure(),
            "memory": _machine.memory(),
            "disk": _machine.disk(folder),
            "kernel": _machine.kernel_complaints(ctx, self.since),
            "log": self._log(os.path.join(own, "log"), str(supervisor.get("state", ""))),
            "log_age": _age(os.path.join(own, "log")),
            "supervisor_err": _tail(os.path.join(own, "supervisor.err"))[-2000:],
            "gate": _runs.read_json(os.path.join(own, "gate.json")),
        }

    def _watched(self, ctx: HostContext, mark: str, own: str) -> dict[str, Any]:
        """The run's processes over a moment, and who else keeps the cores busy."""
        processes, machine, begun = _processes.ticks(), _machine.counters(), time.monotonic()
        time.sleep(self.seconds)
        seconds = time.monotonic() - begun
        cores = _processes.cores_used(processes, _processes.ticks(), seconds)
        used = _machine.use(machine, _machine.counters(), seconds)
        pids = _runs.marked(mark) if mark else []
        ranks = _processes.ranks(pids)
        spy = self._spy()
        deadline = time.monotonic() + _ALL_DUMPS_SECONDS
        watched = []
        for pid in sorted(pids, key=lambda pid: ranks.get(pid, 1 << 30)):
            process = _processes.described(pid)
            if process:
                process.update(rank=ranks.get(pid), cores=cores.get(pid, 0.0))
                if pid in ranks:
                    process["pulse"] = _pulse.pulse(os.path.join(own, f"rank-{ranks[pid]}"), pid)
                if spy and pid in ranks and time.monotonic() < deadline:
                    process.update(_stack(ctx, spy, pid, process["state"]))
                watched.append(process)
        return {"processes": watched, "use": used, "spy": spy, "strangers": strangers(cores, mark)}

    def _spy(self) -> str:
        import shutil

        beside = os.path.join(os.path.dirname(os.path.expanduser(self.python)), "py-spy")
        return beside if os.access(beside, os.X_OK) else shutil.which("py-spy") or ""

    def _log(self, path: str, state: str) -> list[str]:
        """The last lines of this attempt: the log of all attempts is one file."""
        lines = _tail(path).splitlines()
        ends = [number for number, line in enumerate(lines) if _is_ending(line)]
        if state in _ENDINGS:
            ends = ends[:-1]
        return lines[ends[-1] + 1 if ends else 0 :][-self.lines :]


def _is_ending(line: str) -> bool:
    """Whether a line is the supervisor's last of an attempt, as `[node] 12:00:00 failed: why`."""
    words = line.split(None, 3)
    return (
        len(words) > 2
        and words[0] == "[node]"
        and words[1].count(":") == 2
        and words[2].rstrip(":") in _ENDINGS
    )


def _stack(ctx: HostContext, spy: str, pid: int, state: str) -> dict[str, Any]:
    """Where the main thread is, innermost call first."""
    pause = (
        [] if state in "RS" else ["--nonblocking"]
    )  # what is stopped already cannot be paused, and need not be
    try:
        ran = ctx.run([spy, "dump", "--json", "--pid", str(pid), *pause], timeout=_DUMP_SECONDS)
    except (Failed, OSError) as error:
        return {"stack": [], "no_stack": str(error)}
    if ran.rc:
        return {
            "stack": [],
            "no_stack": (ran.err.strip().splitlines() or ["py-spy failed"])[-1][:200],
        }
    threads = json.loads(ran.out)
    main = next(
        (each for each in threads if each.get("thread_name") == "MainThread"),
        threads[0] if threads else {},
    )
    return {
        "stack": [
            f"{frame['name']} ({frame.get('short_filename') or frame['filename']}:{frame['line']})"
            for frame in main.get("frames", ())[:_MOST_FRAMES]
        ]
    }


def strangers(cores: dict[int, float], mark: str) -> list[dict[str, Any]]:
    """Who keeps cores busy and is no part of this run, on whichever node of a shared machine."""
    others: list[dict[str, Any]] = []
    run = mark.partition("/")[0]
    for pid, used in sorted(cores.items(), key=lambda item: -item[1]):
        if used < _STRANGER_CORES or len(others) == _MOST_STRANGERS:
            break
        one = _processes.described(pid)
        if one and not (
            run and _processes.environment(pid).get("PLAYRUNNER_RUN", "").startswith(f"{run}/")
        ):
            others.append({"pid": pid, "name": one["name"], "cores": used})
    return others


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _LOG_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return -1.0


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
