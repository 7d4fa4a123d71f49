"""The keeper of a run on one node: starts its processes, writes down what they say, and sees to it
that none outlives the run.

`python -m trainer.node.supervisor RUN-FOLDER HOST`. A run goes on only as long as somebody renews
its lease: the nodes hear from the first node, the first node from the controller (or from nobody,
when the run was detached). The first failure ends all nodes.
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

from trainer.node import processes
from trainer.node.failure import Failure, cause, ending
from trainer.node.folder import NodeFolder, read_json
from trainer.node.heartbeat_link import Centre, Peer
from trainer.node.output import Output
from trainer.node.peer_contact import Concerns, Contact

TICK_SECONDS = 0.2
# Failures come in bursts; the one that explains the others may be told a little later
SETTLE_SECONDS = 1.0
FAILED_GRACE_SECONDS = 3.0  # ranks that wait for a dead one cannot save anything


class Keeper:
    def __init__(self, folder: NodeFolder, told: dict[str, Any]) -> None:
        self.folder, self.told = folder, told
        self.host: str = told["host"]
        self.mark = f"{told['run_id']}/{self.host}"
        self.selector = selectors.DefaultSelector()
        self.output = Output(folder.log, self.selector, self._log_refused)
        self.contact = Contact(
            told,
            Path(told["token"]).read_text().strip(),
            self.selector,
            Concerns(
                note=self.output.note,
                fail=self._fail,
                stop=self._stop_as_told,
                changed=self._say,
                shake_off=self._shake_off,
            ),
        )
        self.running: dict[int, str] = {}  # pid to label
        self.children: list[
            subprocess.Popen[bytes]
        ] = []  # held: one that is let go reaps its process before we see the end
        self.failures: list[Failure] = []
        self.state, self.reason, self.asked = "running", "", False
        self.deadline = 0.0
        self.lease, self.renewed = 0, time.monotonic()
        sees = set(told.get("sees") or ())
        self.apart = bool(sees) and sees != set(
            told["nodes"]
        )  # not all nodes share the run's folder
        self.kills = False  # what is left here is being killed, which is no failure of its own

    def keep(self) -> int:
        processes.adopt_orphans()
        self._listen_for_signals()
        self.contact.open()
        try:
            for command in self.told["commands"]:
                self._start(command)
        except OSError as error:
            self._fail(Failure(self.host, f"a process could not be started: {error}", time.time()))
        self._say()
        while not self._over():
            for key, _ in self.selector.select(TICK_SECONDS):
                self._attend(key)
            if self.asked:
                self.stop("asked to stop", self.told["grace_seconds"])
            self._reap()
            self.contact.keep_up(bool(self.running), self.state == "running")
            if self.contact.first and not self.told["detached"]:
                self._check_lease()
            self._enforce()
        return self._finish()

    def stop(self, reason: str, grace: float, state: str = "stopping") -> None:
        if self.state != "running":
            return
        self.state, self.reason, self.deadline = state, reason, time.monotonic() + grace
        self.output.note(f"{reason}: ending this node's processes")
        self.contact.tell_stop(reason, state == "failing")
        if state == "stopping":
            self.folder.say_stop()
        everything = processes.marked(self.mark)
        # The trainer saves when it is asked to end; its launcher, asked too, would not give it the
        # time. The ranks of a node that leaves an elastic run are not asked: all the others would
        # save and end with them.
        self.kills = bool(
            state == "failing" and self.told["elastic_min"] and not self.contact.first
        )
        processes.signal_all(
            processes.ranks_among(everything) or everything,
            signal.SIGKILL if self.kills else signal.SIGTERM,
        )
        self._say()

    # --- processes

    def _start(self, command: dict[str, Any]) -> None:
        given = read_json(Path(self.told["environment"]))
        environment = {
            **os.environ,
            **given,
            **command["environment"],
            processes.MARK: self.mark,
            "TRAINER_NODE": str(self.folder.path),
            "TRAINER_TOKEN": self.told["token"],
            **self._folder_words(),
        }
        process = subprocess.Popen(
            command["argv"],
            cwd=self.folder.run,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=processes.end_with_parent,
        )
        self.children.append(process)
        self.running[process.pid] = command["label"]
        self.output.add(process.stdout, command["label"])

    def _folder_words(self) -> dict[str, str]:
        """Where nodes do not share the run's folder, the first that sees one looks after it."""
        return {"TRAINER_KEEPS": str(int(self.told["sees"][0] == self.host))} if self.apart else {}

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                for gone, name in list(
                    self.running.items()
                ):  # nobody may reap them but us; should it happen, it is an end too
                    del self.running[gone]
                    self._ended(name, -signal.SIGKILL)
                return
            if not pid:
                return
            label = self.running.pop(pid, None)
            if label is not None:
                self.output.drain()
                self._ended(label, os.waitstatus_to_exitcode(status))

    def _ended(self, label: str, code: int) -> None:
        if code and not (self.kills and code == -signal.SIGKILL):
            self._fail(
                Failure(self.host, ending(label, code), time.time(), code, tuple(self.output.tail))
            )
        if not self.running and self.state == "running":
            self.output.note("this node is done")

    def _fail(self, failure: Failure) -> None:
        if self.state == "stopping":
            return  # it ends because it was asked to; what breaks on the way out is no failure
        self.failures.append(failure)
        self.contact.tell_failure(failure)
        self.stop(failure.reason, FAILED_GRACE_SECONDS, "failing")

    # --- what happens

    def _attend(self, key: selectors.SelectorKey) -> None:
        if key.fd in self.output.pipes:
            self.output.read(key)
        elif isinstance(key.data, Centre):
            key.data.accept()
        elif isinstance(key.data, Peer):
            self.contact.hear(key.data)
        else:
            os.read(key.fd, 64)  # a signal; its handler has run

    def _log_refused(self, error: OSError) -> None:
        self._fail(Failure(self.host, f"its log cannot be written: {error.strerror}", time.time()))

    def _stop_as_told(self, reason: str, at_once: bool) -> None:
        """The first node has said that the run is over."""
        if at_once:
            self.stop(reason, FAILED_GRACE_SECONDS, "failing")
        else:
            self.stop(reason, self.told["grace_seconds"])

    def _shake_off(self) -> None:
        """Ranks in the middle of a sum wait for a lost one's share for as long as the network lets
        them; the launcher starts new ones in their place, which find each other anew."""
        ranks = processes.ranks_among(processes.marked(self.mark)) - set(self.running)
        processes.signal_all(ranks, signal.SIGKILL)

    def _check_lease(self) -> None:
        try:
            touched = self.folder.lease.stat().st_mtime_ns
        except OSError:
            touched = 0
        if touched != self.lease:
            self.lease, self.renewed = touched, time.monotonic()
        patience = self.told["lease_seconds"]
        if time.monotonic() - self.renewed > patience:
            self._fail(
                Failure(
                    self.host,
                    f"the controller has not been heard from for {patience:g} s",
                    time.time(),
                )
            )

    # --- the end

    def _enforce(self) -> None:
        if (
            self.deadline
            and time.monotonic() > self.deadline
            and (self.running or processes.marked(self.mark))
        ):
            self.output.note("not all ended in time: killing them")
            self.kills = True
            processes.end_all(self.mark, 0)

    def _over(self) -> bool:
        if self.running or (self.output.pipes and processes.marked(self.mark)):
            return False
        if self.state != "running":
            settled = not self.failures or time.time() - self.failures[0].time > SETTLE_SECONDS
            return settled and not processes.marked(self.mark)
        # All of ours ended well; the first node stays until the others have ended too.
        return not self.contact.awaited

    def _finish(self) -> int:
        processes.end_all(self.mark, 0.5)
        self.contact.tell_end()
        state = {"running": "finished", "stopping": "stopped", "failing": "failed"}[self.state]
        found = cause(self.failures)
        self.reason = found.reason if found else self.reason
        self.state = state
        self.output.note(state + (f": {self.reason}" if self.reason else ""))
        self._say()
        return 0 if state in ("finished", "stopped") else 1

    def _say(self) -> None:
        pid = os.getpid()
        found = cause(self.failures)
        state = {"failing": "stopping"}.get(self.state, self.state)
        self.folder.write_keeper(
            run_id=self.told["run_id"],
            host=self.host,
            state=state,
            reason=self.reason,
            pid=pid,
            boot=processes.boot_id(),
            started=processes.start_time(pid),
            machine=socket.gethostname(),
            processes=self.running,
            mark=self.mark,
            apart=self.apart,
            lost=sorted(self.contact.lost),
            cause=found.plain() if found else None,
        )

    def _listen_for_signals(self) -> None:
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.selector.register(reader, selectors.EVENT_READ, None)
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _ask(self, *_: object) -> None:
        self.asked = True  # acted upon in the loop: a handler may find anything half done


def main() -> int:
    folder = NodeFolder(Path(sys.argv[1]), sys.argv[2])
    keeper = Keeper(folder, json.loads(folder.start.read_text()))
    try:
        return keeper.keep()
    finally:
        if keeper.state not in (
            "finished",
            "stopped",
            "failed",
        ):  # the keeper itself broke: nothing that it started is left
            processes.end_all(keeper.mark, 0)


if __name__ == "__main__":
    sys.exit(main())
