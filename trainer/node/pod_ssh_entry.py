"""A pod of a run whose ranks are started over SSH, as DeepSpeed does: `python -m
trainer.node.pod_ssh_entry --name RUN ... -m trainer ...`.

Every pod runs an sshd (pod_sshd.py) where the run's key may start this pod's ranks (ranks.py) and
nothing else. The first pod writes the hostfile, waits until all pods answer, starts the ranks on
every pod, itself included, and ends all when one fails; its log has every rank's lines. When all
are done it tells the other pods to exit. Standard library only.
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
from trainer.errors import NotRestarted
from trainer.node import processes
from trainer.node.exit_with_parent import EXIT_PARENT_GONE
from trainer.node.pod_entry import wait_for
from trainer.node.pod_sshd import PORT, Sshd, SshdUnavailable, write
from trainer.node.ranks import OVER, START, TICK_SECONDS, pump
from trainer.node.restart import LASTING_CODES, NOT_AGAIN
from trainer.node.starts import VARIABLE, starts_of

EXIT_UNREACHABLE = 69
# For ranks on other pods to end once one has failed; the same for their last output
LAST_SECONDS = 30.0

SSHD_EXIT_SECONDS = 1.0  # sshd reports a session's exit code after its end


def main(arguments: list[str]) -> int:
    at = arguments.index("-m")
    options = _parser().parse_args(arguments[:at])
    folder = Path(tempfile.mkdtemp(prefix="playrunner-ssh-"))
    node = int(os.environ.get("JOB_COMPLETION_INDEX") or 0)
    config = {
        "node": node,
        "nodes": options.nodes,
        "slots": options.slots,
        "port": options.port,
        "words": arguments[at:],
        "mark": f"{options.name}/{node}",
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    daemon = Sshd(folder, options.name)
    try:
        daemon.copy_keys(Path(options.keys))
        write(folder / START, json.dumps(config))
        listening = daemon.start(os.environ["POD_IP"], _forced_command(folder, str(config["mark"])))
        return Pod(daemon, listening, config).run(
            [host(options.name, number) for number in range(options.nodes)]
        )
    except SshdUnavailable as error:
        print(f"over_ssh: {error}", flush=True)
        return EXIT_UNREACHABLE
    except NotRestarted as refusal:
        print(f"{NOT_AGAIN}{refusal}", flush=True)
        return refusal.exit_code


def host(name: str, node: int) -> str:
    """The name by which the pods of an Indexed Job find one another."""
    return f"{name}-{node}.{name}"


class Pod:
    """One pod of the run, from its sshd's start to the end of its ranks."""

    def __init__(
        self, daemon: Sshd, listening: subprocess.Popen[bytes], config: dict[str, Any]
    ) -> None:
        self.daemon, self.listening, self.config = daemon, listening, config
        self.asked = self.started = False
        self.starts = starts_of(os.environ[VARIABLE])
        signal.signal(signal.SIGTERM, self._ask)

    def run(self, hosts: list[str]) -> int:
        try:
            return self._wait_for_end() if self.config["node"] else self._run_all(hosts)
        finally:
            processes.end_all(self.config["mark"], 0)
            self.listening.terminate()
            self.listening.wait()

    def _wait_for_end(self) -> int:
        """Until the first pod reports the end of the run; it starts the ranks here, possibly more
        than once."""
        while not (self.daemon.folder / OVER).exists():
            if self.listening.poll() is not None:
                print(f"over_ssh: sshd ended with code {self.listening.returncode}", flush=True)
                return EXIT_UNREACHABLE
            if self.asked and not processes.marked(self.config["mark"]):
                return EXIT_PARENT_GONE
            time.sleep(TICK_SECONDS)
        while processes.marked(self.config["mark"]):  # the session that reported the end
            time.sleep(TICK_SECONDS)
        time.sleep(SSHD_EXIT_SECONDS)
        return 0

    def _run_all(self, hosts: list[str]) -> int:
        hostfile = "".join(f"{host} slots={self.config['slots']}\n" for host in hosts)
        self.starts.check()
        write(self.daemon.folder / "hostfile", hostfile)
        print(f"over_ssh: hostfile\n{hostfile}", end="", flush=True)
        if not all(wait_for(f"{host}:{PORT}") for host in hosts):
            return EXIT_UNREACHABLE
        self.starts.join(self.starts.begin(len(hosts)))
        self.started = True
        sessions = {host: self._start_ranks(host) for host in hosts}
        pumps = [pump(session.stdout) for session in sessions.values() if session.stdout]
        failed = _all_ended(sessions)
        for thread in pumps:
            thread.join(LAST_SECONDS)
        if self.asked:
            return failed or EXIT_PARENT_GONE
        if failed:  # the pod that replaces this one starts them again
            restart = self.starts.failed(f"ranks ended with code {failed}", failed in LASTING_CODES)
            print(restart.line(self.starts.limits.most), flush=True)
            return failed
        informed = [self._report_end(host) for host in hosts[1:]]
        return 0 if all(informed) else EXIT_UNREACHABLE

    def _report_end(self, host: str) -> bool:
        """Tell a pod that the run is over; one that no longer listens knows already, whatever ssh's
        exit code."""
        deadline = time.monotonic() + LAST_SECONDS
        while subprocess.run(
            self.daemon.command(host, "end"), check=False, stdin=subprocess.DEVNULL
        ).returncode:
            if not listens(host):
                return True
            if time.monotonic() > deadline:
                print(f"over_ssh: cannot tell {host} that the run is over", flush=True)
                return False
            time.sleep(1.0)
        return True

    def _start_ranks(self, host: str) -> subprocess.Popen[bytes]:
        command = self.daemon.command(host, f"ranks {os.environ['POD_IP']}")
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _ask(self, *_: object) -> None:
        """SIGTERM: pass it to the ranks here, which save; all other ranks follow them."""
        self.asked = True
        if not self.started and not self.config["node"]:
            raise SystemExit(EXIT_PARENT_GONE)  # it only waits for the others
        if self.started:
            self.starts.left("the first pod was asked to end")
        processes.signal_all(
            processes.ranks_among(processes.marked(self.config["mark"])), signal.SIGTERM
        )


def listens(host: str) -> bool:
    try:
        with socket.create_connection((host, PORT), 5):
            return True
    except OSError:
        return False


def _all_ended(sessions: dict[str, subprocess.Popen[bytes]]) -> int:
    """Wait for all sessions; the exit code of the first that failed, which ends the others."""
    failed, deadline = 0, float("inf")
    going = dict(sessions)
    while going:
        for name, session in list(going.items()):
            code = session.poll()
            if code is None:
                if time.monotonic() > deadline:
                    session.kill()
                continue
            del going[name]
            if code and not failed:
                failed, deadline = (
                    (code if code > 0 else 128 - code),
                    time.monotonic() + LAST_SECONDS,
                )
                reason = "the connection was lost" if code == 255 else f"ended with code {code}"
                print(f"over_ssh: {name}: {reason}; the ranks on all pods are ended", flush=True)
                for other in going.values():
                    if other.stdin:
                        other.stdin.close()
        time.sleep(TICK_SECONDS)
    return failed


def _forced_command(folder: Path, mark: str) -> list[str]:
    """The only command the key may run; its mark lets its end be awaited."""
    code = str(Path(trainer.__file__).parents[1])
    program = [sys.executable, "-u", "-m", "trainer.node.ranks", str(folder)]
    return ["env", f"PYTHONPATH={code}", f"{processes.MARK}={mark}", *program]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("over_ssh", description=__doc__)
    parser.add_argument("--name", required=True, help="name of the run's Job and Service")
    parser.add_argument("--nodes", type=int, required=True, help="number of pods")
    parser.add_argument("--slots", type=int, required=True, help="ranks per pod")
    parser.add_argument(
        "--port", type=int, required=True, help="port of the ranks' rendezvous on the first pod"
    )
    parser.add_argument("--keys", required=True, help="folder with the run's SSH keys")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
