"""The supervisor of a run on one node: starts its processes, logs their output, and ends them with
the run.

`python -m trainer.node.supervisor RUN-FOLDER HOST`. A run needs a renewed lease: the other nodes
get it from the first node, the first node from the controller (a detached run needs none there).
The first failure ends the processes on all nodes; then the first node decides whether all start
again (restart.py).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from trainer.errors import TrainerError
from trainer.node import failure, processes
from trainer.node.failure import Failure, cause
from trainer.node.folder import Lease, NodeFolder
from trainer.node.heartbeat_link import HeartbeatServer, Peer
from trainer.node.output import Output
from trainer.node.peer_contact import Contact, PeerCallbacks
from trainer.node.prepared import PreparedRanks, rank_environment
from trainer.node.process_identity import boot_id, start_time
from trainer.node.restart import Restarts

TICK_SECONDS = 0.2
# Failures come in bursts; the one that explains the others may be reported a little later
SETTLE_SECONDS = 1.0
FAILED_GRACE_SECONDS = 3.0  # ranks that wait for a dead one cannot save


class Supervisor:
    def __init__(
        self, folder: NodeFolder, config: dict[str, Any], prepared: PreparedRanks | None = None
    ) -> None:
        self.folder, self.config = folder, config
        self.prepared = prepared or PreparedRanks()
        self.host: str = config["host"]
        self.mark = f"{config['run_id']}/{self.host}"
        self.selector = selectors.DefaultSelector()
        self.output = Output(folder.log, self.selector, self._log_refused)
        self.contact = Contact(
            config,
            Path(config["token"]).read_text().strip(),
            self.selector,
            PeerCallbacks(
                note=self.output.note,
                fail=self._fail,
                stop=self._stop_requested,
                changed=self._write_status,
                kill_stuck_ranks=self._kill_stuck_ranks,
                restart=self._restart,
            ),
        )
        self.running: dict[int, str] = {}  # pid to label
        # Referenced: a Popen that is garbage-collected reaps its process before we see its end
        self.children: list[subprocess.Popen[bytes]] = []
        self.failures: list[Failure] = []
        self.state, self.reason, self.asked, self.deadline = "running", "", False, 0.0
        self.lease = Lease(folder.lease)
        sees = set(config.get("sees") or ())
        # Whether some nodes do not share the run's folder
        self.apart = bool(sees) and sees != set(config["nodes"])
        self.kills = False  # remaining processes are being killed, which is not a failure
        self.restarts = Restarts(config, folder.output)
        if config.get("script") and not config["node_rank"]:
            from trainer.node.metric_lines import metrics_of  # only scripts need it

            metrics = metrics_of(folder.output, folder.run / "work")
            self.output.reader, self.output.tick = metrics.take, metrics.tick

    def run(self) -> int:
        processes.adopt_orphans()
        processes.wake_on_signals(self.selector, self._on_sigterm)
        self.output.note(f"run {self.config['run_id']} begins")
        self.contact.open()
        self._start_all()
        while not self._over() or self._starts_again():
            for key, _ in self.selector.select(TICK_SECONDS):
                self._handle(key)
            if self.asked:
                self.stop("asked to stop", self.config["grace_seconds"])
            self._reap()
            self.output.tick()
            waits = self.state == "failing" and self.restarts.most > 0
            self.contact.keep_up(bool(self.running) or waits, self.state == "running")
            if self.contact.first and not self.config["detached"]:
                self._check_lease()
            self._enforce()
        return self._finish()

    def stop(self, reason: str, grace: float, state: str = "stopping") -> None:
        if state == "stopping" and self.state == "failing" and self.restarts.most:
            self.failures.clear()  # asked to end before it starts again
        elif self.state != "running":
            return
        self.state, self.reason, self.deadline = state, reason, time.monotonic() + grace
        self.output.note(f"{reason}: ending this node's processes")
        self.contact.send_stop(reason, state == "failing")
        if state == "stopping":
            self.folder.request_stop()
        everything = processes.marked(self.mark)
        # Ranks save on SIGTERM; a launcher that gets it kills them before they are done. The ranks
        # of a node that leaves an elastic run are killed: on SIGTERM all others would save and end
        # with them.
        self.kills = bool(
            state == "failing" and self.config["elastic_min"] and not self.contact.first
        )
        processes.signal_all(
            processes.ranks_among(everything) or everything,
            signal.SIGKILL if self.kills else signal.SIGTERM,
        )
        self._write_status()

    def _starts_again(self) -> bool:
        """Whether to stay after all processes have ended: the first node decides."""
        if self.state != "failing" or not self.restarts.most:
            return False
        if not self.contact.first:
            return self.contact.awaits_decision(cause(self.failures))
        gone = self.contact.lost | self.contact.ended
        decision = self.restarts.decide(self.failures, gone, self.contact.all_idle)
        if news := self.restarts.news():
            self.reason = news
            self.output.note(news)
            self._write_status()
        if decision == "go":
            self._restart(self.contact.send_restart())
        elif not self.contact.all_idle:
            self.contact.send_stop(self.reason, True)  # to nodes that joined only now
        return decision != "no"

    def _restart(self, number: int) -> None:
        if self.state != "failing":
            return
        self.restarts.begin()
        self.failures, self.deadline, self.kills = [], 0.0, False
        self.reason, self.state = "", "running"
        self.output.tail.clear()
        self._start_all()

    def _start_all(self) -> None:
        try:
            for command in self.config["commands"]:
                self._start(command)
            self.prepared.end()
        except OSError as error:
            self._fail_here(failure.NOT_STARTED, f"a process could not be started: {error}")
        self._write_status()

    def _start(self, command: dict[str, Any]) -> None:
        given = {**self.folder.variables(self.config), **command["environment"]}
        environment = rank_environment(given, self.config, self.folder.path)
        if self.apart:  # the first node of each folder maintains it
            environment["TRAINER_KEEPS"] = str(int(self.config["sees"][0] == self.host))
        if self.restarts.count:  # the network was checked when the run started first
            environment |= {"TRAINER_GATE": "", "TRAINER_RESTART": str(self.restarts.count)}
        process = self.prepared.start(command["argv"], self.folder.run, environment)
        self.children.append(process)
        self.running[process.pid] = command["label"]
        self.output.add(process.stdout, command["label"])

    def _reap(self) -> None:
        for label, code in processes.reaped(self.running):
            self.output.drain()
            self._ended(label, code)

    def _ended(self, label: str, code: int) -> None:
        if code and not (self.kills and code == -signal.SIGKILL):
            what, tail = failure.ending(label, code), tuple(self.output.tail)
            self._fail(Failure(self.host, failure.kind_of(label), what, time.time(), code, tail))
        if not self.running and self.state == "running":
            self.output.note("this node is done")

    def _fail_here(self, kind: str, what: str) -> None:
        self._fail(Failure(self.host, kind, what, time.time()))

    def _fail(self, new_failure: Failure) -> None:
        if self.state == "stopping":
            return  # errors while stopping on request are not failures
        self.failures.append(new_failure)
        self.contact.send_failure(new_failure)
        self.stop(new_failure.reason, FAILED_GRACE_SECONDS, "failing")

    def _handle(self, key: selectors.SelectorKey) -> None:
        if key.fd in self.output.pipes:
            self.output.read(key)
        elif isinstance(key.data, HeartbeatServer):
            key.data.accept()
        elif isinstance(key.data, Peer):
            self.contact.receive(key.data)
        else:
            os.read(key.fd, 64)  # a signal; its handler has run

    def _log_refused(self, error: OSError) -> None:
        self._fail_here(failure.LOG_REFUSED, f"its log cannot be written: {error.strerror}")

    def _stop_requested(self, reason: str, at_once: bool) -> None:
        """The first node ends the run."""
        if at_once:
            self.stop(reason, FAILED_GRACE_SECONDS, "failing")
        else:
            self.stop(reason, self.config["grace_seconds"])

    def _kill_stuck_ranks(self) -> None:
        """Ranks in a collective wait for a lost node until the network times out; the launcher
        starts new ones, which form a new group."""
        ranks = processes.ranks_among(processes.marked(self.mark)) - set(self.running)
        processes.signal_all(ranks, signal.SIGKILL)

    def _check_lease(self) -> None:
        patience = self.config["lease_seconds"]
        if self.lease.silence() > patience:
            what = f"the controller has not been heard from for {patience:g} s"
            self._fail_here(failure.LEASE_EXPIRED, what)

    def _enforce(self) -> None:
        if (
            self.deadline
            and time.monotonic() > self.deadline
            and (self.running or processes.marked(self.mark))
        ):
            self.output.note("some processes did not end in time: killing them")
            self.kills = True
            processes.end_all(self.mark, 0)

    def _over(self) -> bool:
        if self.running or (self.output.pipes and processes.marked(self.mark)):
            return False
        if self.state != "running":
            settled = not self.failures or time.time() - self.failures[0].time > SETTLE_SECONDS
            return settled and not processes.marked(self.mark)
        # This node is done; the first one stays until it has heard so of all others.
        return not self.contact.awaited and not self.contact.unreported

    def _finish(self) -> int:
        processes.end_all(self.mark, 0.5)
        self.folder.forget_secrets()
        self.contact.send_final()
        self.contact.send_end()
        state = {"running": "finished", "stopping": "stopped", "failing": "failed"}[self.state]
        root = cause(self.failures)
        self.reason = root.reason if root else self.reason
        if self.restarts.refused and state == "failed":
            self.reason += f"; not started again: {self.restarts.refused}"
        self.state = state
        self.output.note(state + (f": {self.reason}" if self.reason else ""))
        self._write_status()
        return 0 if state in ("finished", "stopped") else 1

    def _write_status(self) -> None:
        pid = os.getpid()
        root = cause(self.failures)
        failing = "running" if self.restarts.at else "stopping"
        self.folder.write_status(
            run_id=self.config["run_id"],
            host=self.host,
            state=failing if self.state == "failing" else self.state,
            reason=self.reason,
            pid=pid,
            boot=boot_id(),
            started=start_time(pid),
            machine=socket.gethostname(),
            processes=self.running,
            mark=self.mark,
            apart=self.apart,
            lost=sorted(self.contact.lost),
            cause=root.plain() if root else None,
            restarts=self.restarts.count,
        )

    def _on_sigterm(self, *_: object) -> None:
        self.asked = True  # handled in the loop, where no state is half changed


def main(prepared: PreparedRanks | None = None) -> int:
    folder = NodeFolder(Path(sys.argv[1]), sys.argv[2])
    supervisor = Supervisor(folder, json.loads(folder.start.read_text()), prepared)
    try:
        return supervisor.run()
    except TrainerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    finally:
        if supervisor.state not in ("finished", "stopped", "failed"):  # a bug in the supervisor
            processes.end_all(supervisor.mark, 0)


if __name__ == "__main__":
    sys.exit(main())
