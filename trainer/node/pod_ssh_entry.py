"""A pod of a run whose ranks are started over SSH, as DeepSpeed does: `python -m
trainer.node.pod_ssh_entry --name RUN ... -m trainer ...`.

Every pod runs an sshd (node/daemon.py) by which the run's key starts this pod's ranks
(node/ranks.py) and does nothing else. The first pod writes the hostfile, waits until all pods
answer, starts the ranks everywhere, itself included, and ends all when one fails; its log has every
rank's lines. When all are done it tells the others to go. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import trainer
from trainer.node import processes
from trainer.node.pod_entry import reached
from trainer.node.pod_sshd import PORT, Daemon, NoDaemon, write
from trainer.node.ranks import OVER, START, TICK_SECONDS, pump

ASKED_TO_GO = 143
NOT_THERE = 69
# For ranks elsewhere to end once one has failed; a connection that is cut is noticed as soon
LAST_SECONDS = 30.0

PARTING_SECONDS = 1.0  # sshd tells how a session ended after that has ended


def main(words: list[str]) -> int:
    at = words.index("-m")
    options = _parser().parse_args(words[:at])
    folder = Path(tempfile.mkdtemp(prefix="playrunner-ssh-"))
    node = int(os.environ.get("JOB_COMPLETION_INDEX") or 0)
    told = {
        "node": node,
        "nodes": options.nodes,
        "slots": options.slots,
        "port": options.port,
        "words": words[at:],
        "mark": f"{options.name}/{node}",
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    daemon = Daemon(folder, options.name)
    try:
        daemon.take(Path(options.keys))
        write(folder / START, json.dumps(told))
        listening = daemon.start(os.environ["POD_IP"], _opened(folder, str(told["mark"])))
        return Pod(daemon, listening, told).run(
            [host(options.name, each) for each in range(options.nodes)]
        )
    except NoDaemon as error:
        print(f"over_ssh: {error}", flush=True)
        return NOT_THERE


def host(name: str, node: int) -> str:
    """The name by which the pods of an Indexed Job find one another."""
    return f"{name}-{node}.{name}"


class Pod:
    """One pod of the run, from its sshd's start to the end of its ranks."""

    def __init__(
        self, daemon: Daemon, listening: subprocess.Popen[bytes], told: dict[str, Any]
    ) -> None:
        self.daemon, self.listening, self.told = daemon, listening, told
        self.asked = self.started = False
        signal.signal(signal.SIGTERM, self._ask)

    def run(self, hosts: list[str]) -> int:
        try:
            return self._attend() if self.told["node"] else self._conduct(hosts)
        finally:
            processes.end_all(self.told["mark"], 0)
            self.listening.terminate()
            self.listening.wait()

    def _attend(self) -> int:
        """Until the first pod says that it is over; that one starts the ranks, and may come back
        for more."""
        while not (self.daemon.folder / OVER).exists():
            if self.listening.poll() is not None:
                print(f"over_ssh: sshd ended with code {self.listening.returncode}", flush=True)
                return NOT_THERE
            if self.asked and not processes.marked(self.told["mark"]):
                return ASKED_TO_GO
            time.sleep(TICK_SECONDS)
        while processes.marked(self.told["mark"]):  # whoever told us
            time.sleep(TICK_SECONDS)
        time.sleep(PARTING_SECONDS)
        return 0

    def _conduct(self, hosts: list[str]) -> int:
        hostfile = "".join(f"{each} slots={self.told['slots']}\n" for each in hosts)
        write(self.daemon.folder / "hostfile", hostfile)
        print(f"over_ssh: hostfile\n{hostfile}", end="", flush=True)
        if not all(reached(f"{each}:{PORT}") for each in hosts):
            return NOT_THERE
        self.started = True
        calls = {each: self._called(each) for each in hosts}
        pumps = [pump(call.stdout) for call in calls.values() if call.stdout]
        failed = _all_ended(calls)
        for thread in pumps:
            thread.join(LAST_SECONDS)
        if failed or self.asked:
            return failed or ASKED_TO_GO
        heard = [self._let_go(each) for each in hosts[1:]]
        return 0 if all(heard) else NOT_THERE

    def _let_go(self, host: str) -> bool:
        """Tell a pod that the run is over; one that no longer listens has heard it, whatever ssh
        says of its last words."""
        deadline = time.monotonic() + LAST_SECONDS
        while subprocess.run(
            self.daemon.call(host, "end"), check=False, stdin=subprocess.DEVNULL
        ).returncode:
            if not listens(host):
                return True
            if time.monotonic() > deadline:
                print(f"over_ssh: {host} cannot be told that the run is over", flush=True)
                return False
            time.sleep(1.0)
        return True

    def _called(self, host: str) -> subprocess.Popen[bytes]:
        asking = self.daemon.call(host, f"ranks {os.environ['POD_IP']}")
        return subprocess.Popen(
            asking,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _ask(self, *_: object) -> None:
        """The trainer saves when it is asked to end, and so do the ranks it tells of it."""
        self.asked = True
        if not self.started and not self.told["node"]:
            raise SystemExit(ASKED_TO_GO)  # it only waits for the others
        processes.signal_all(
            processes.ranks_among(processes.marked(self.told["mark"])), signal.SIGTERM
        )


def listens(host: str) -> bool:
    try:
        with socket.create_connection((host, PORT), 5):
            return True
    except OSError:
        return False


def _all_ended(calls: dict[str, subprocess.Popen[bytes]]) -> int:
    """The code of the first that failed, once none is left; that one ends the others by letting go
    of them."""
    failed, deadline = 0, float("inf")
    going = dict(calls)
    while going:
        for name, call in list(going.items()):
            code = call.poll()
            if code is None:
                if time.monotonic() > deadline:
                    call.kill()
                continue
            del going[name]
            if code and not failed:
                failed, deadline = (
                    (code if code > 0 else 128 - code),
                    time.monotonic() + LAST_SECONDS,
                )
                why = "the connection was lost" if code == 255 else f"ended with code {code}"
                print(f"over_ssh: {name}: {why}; the ranks on all pods are ended", flush=True)
                for other in going.values():
                    if other.stdin:
                        other.stdin.close()
        time.sleep(TICK_SECONDS)
    return failed


def _opened(folder: Path, mark: str) -> list[str]:
    """What the key opens; it carries the run's mark, so that its end can be awaited."""
    code = str(Path(trainer.__file__).parents[1])
    program = [sys.executable, "-u", "-m", "trainer.node.ranks", str(folder)]
    return ["env", f"PYTHONPATH={code}", f"{processes.MARK}={mark}", *program]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("over_ssh", description=__doc__)
    parser.add_argument("--name", required=True, help="of the run's Job and Service")
    parser.add_argument("--nodes", type=int, required=True, help="how many pods")
    parser.add_argument("--slots", type=int, required=True, help="ranks in each")
    parser.add_argument(
        "--port", type=int, required=True, help="where ranks meet, on the first pod"
    )
    parser.add_argument("--keys", required=True, help="the folder of the run's keys")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
