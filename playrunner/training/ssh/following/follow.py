"""Following a run: every node's output and metrics are streamed to this machine, and the run's
lease is renewed meanwhile."""

from __future__ import annotations

import collections
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.ssh.connection import Channel
from playrunner.ssh.fleet import Fleet
from playrunner.text.documents import json_object
from playrunner.training.node_shell import node_command
from playrunner.training.runs.states import ENDED
from playrunner.training.ssh.following.listener import RunListener
from playrunner.training.ssh.job import LEASE_SECONDS
from trainer.node.failure import FIRST_NODE_LOST, NODE_LOST

BEAT_SECONDS = 2.0
RETRY_SECONDS = 1.0
FIRST_WORD_SECONDS = 20.0  # for a node's first message
SILENCE_SECONDS = 4.0  # then its connection counts as broken; it sends one each second
MOST_RETURNS = 10  # a node that is lost again and again stays lost
# Once the first node has ended, the others are given this long to tell how they did; a node that is
# gone tells nothing.
LAST_WORDS_SECONDS = 8.0

States = dict[str, dict[str, Any]]


class Follower:
    """One run's nodes, heard side by side."""

    def __init__(
        self,
        fleet: Fleet,
        job: dict[str, Any],
        listener: RunListener,
        *,
        hosts: list[str] | None = None,
        renew: bool = True,
        offsets: dict[str, int] | None = None,
        to_gate: bool = False,
        lease: float = LEASE_SECONDS,
        rejoin: Callable[[str], bool] | None = None,
    ) -> None:
        self.fleet, self.job, self.listener, self.renew = fleet, job, listener, renew
        self.lease, self.rejoin = (
            lease,
            rejoin,
        )  # rejoin: starts a node's part of an elastic run again
        self.heard: dict[str, float] = {}  # when each node said something last
        self.silent: set[str] = set()
        self.returns: collections.Counter[str] = collections.Counter()
        self.to_gate, self.passed = to_gate, False  # only until the gate is open
        self.nodes = [node for node in job["nodes"] if hosts is None or node["host"] in hosts]
        self.states: States = {}
        self.news: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.channels: dict[str, Channel] = {}
        self.offsets = {node["host"]: (offsets or {}).get(node["host"], 0) for node in self.nodes}
        self.metrics_offset = 0
        self.over = threading.Event()

    def follow(self) -> States:
        """Until every node has ended, or the gate is open; what each one's supervisor said last."""
        for node in self.nodes:
            self._attend(node)
        if self.renew:
            threading.Thread(target=self._keep_beating, daemon=True).start()
        first_ended = 0.0
        try:
            while not self._all_ended() and not (self.to_gate and self.passed):
                try:
                    self._take(*self.news.get(timeout=0.2))
                except queue.Empty:
                    self.listener.idle()
                self._notice_silence()
                self._bring_back()
                if self._has_ended(self.nodes[0]["host"]):
                    first_ended = first_ended or time.monotonic()
                    if self._all_said() or time.monotonic() - first_ended > LAST_WORDS_SECONDS:
                        break
        finally:
            self.over.set()
            for channel in list(self.channels.values()):
                channel.close()
        return {
            node["host"]: self.states[node["host"]]
            for node in self.nodes
            if node["host"] in self.states
        }

    def _attend(self, node: dict[str, Any]) -> None:
        self.heard[node["host"]] = time.monotonic() + FIRST_WORD_SECONDS
        threading.Thread(target=self._listen, args=(node,), daemon=True).start()

    def _notice_silence(self) -> None:
        """A connection that is cut says nothing, nor does a node without power."""
        for host in [node["host"] for node in self.nodes if not self._has_ended(node["host"])]:
            quiet = time.monotonic() - self.heard[host]
            if quiet <= SILENCE_SECONDS and host in self.silent:
                self.silent.discard(host)
                self.listener.say(f"{host} is heard again")
            elif quiet > SILENCE_SECONDS and host not in self.silent:
                self.silent.add(host)
                self.listener.say(f"{host}: nothing heard for {SILENCE_SECONDS:g} s")
                if host in self.channels:
                    self.channels[host].close()  # its listener opens another
            if quiet > self.lease and self.renew and host == self.job["nodes"][0]["host"]:
                # Its lease was not renewed meanwhile: whether it is up or not, the run has ended
                # there.
                gone = f"has not been heard from for {self.lease:g} s"
                self.states[host] = {
                    "state": "lost",
                    "reason": f"{host} {gone}",
                    "cause": {"node": host, "kind": NODE_LOST, "what": gone},
                }

    def _bring_back(self) -> None:
        """A node that an elastic run has lost, and that answers again, is given its part again."""
        first = self.states.get(self.job["nodes"][0]["host"], {})
        if not self.rejoin or first.get("state") != "running":
            return
        for node in self.nodes[1:]:
            host = node["host"]
            if (
                host in first.get("lost", ())
                and self._was_cut_off(host)
                and self.returns[host] < MOST_RETURNS
            ):
                self.returns[host] += 1
                self.listener.say(f"{host} answers again: it joins the run")
                if not self.rejoin(host):
                    self.listener.say(f"{host} could not be started")
                del self.states[host]
                self._attend(node)

    def _take(self, host: str, message: dict[str, Any]) -> None:
        if "log" in message:
            self.offsets[host] = message.get("offset", 0)
            self.listener.log(host, message["log"])
        elif "metrics" in message:
            self.metrics_offset = message.get("offset", 0)
            self.listener.metrics(message["metrics"], bool(message.get("again")))
        elif "supervisor" in message:
            self.silent.discard(host)
            self._tell_apart(host, message["supervisor"])
            before, self.states[host] = self.states.get(host, {}), message["supervisor"]
            lost, known = set(message["supervisor"].get("lost", ())), set(before.get("lost", ()))
            for name in sorted(lost - known):
                self.listener.say(
                    f"{name} is lost"
                    + ("; the run goes on without it" if self.job.get("elastic") else "")
                )
            for name in sorted(known - lost):
                self.listener.say(f"{name} is back")
        elif (
            "gate" in message
            and not self.passed
            and (self.job.get("elastic") or host == self.job["nodes"][0]["host"])
        ):
            if self.listener.gate(message["gate"]):
                self.passed = True
                self._send(self._hosts_to_beat())
        elif "silence" in message:
            self.listener.say(f"{host}: {message['silence']}")

    def _tell_apart(self, host: str, supervisor: dict[str, Any]) -> None:
        if (
            supervisor.get("apart")
            and host not in self.states
            and host == self.job["nodes"][0]["host"]
        ):
            self.listener.say(
                "not all nodes share the run's folder: each keeps a copy of every checkpoint"
            )

    def _listen(self, node: dict[str, Any]) -> None:
        """One node's follower, started again whenever the connection breaks."""
        host, reported = node["host"], False
        while not self.over.is_set():
            try:
                channel = self.channels[host] = self.fleet.start(host, self._command(node))
                reported = False
                if self._hear(host, channel):
                    return
                self.fleet.forget(host)
            except (PlayrunnerError, OSError, EOFError) as error:
                if not reported and not self.over.is_set():
                    self.news.put((host, {"silence": str(error)}))
                reported = True
                self.fleet.forget(host)
            self.over.wait(RETRY_SECONDS)

    def _hear(self, host: str, channel: Channel) -> bool:
        """Pass on what the node says; whether it said that it has ended."""
        pending = b""
        if self.renew:
            self._send([host])
        while not self.over.is_set():
            data = channel.receive()
            if not data:
                break
            self.heard[host] = time.monotonic()
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                message = json_object(line) if line.startswith(b"{") else None
                if message is not None:
                    self.news.put((host, message))
                    supervisor = message.get("supervisor")
                    if isinstance(supervisor, dict) and supervisor.get("state") in ENDED:
                        return True
        return False

    def _command(self, node: dict[str, Any]) -> str:
        words = [
            f"{node['root']}/runs/{self.job['name']}",
            node["host"],
            str(self.offsets[node["host"]]),
        ]
        if node is self.job["nodes"][0]:
            words.append(str(self.metrics_offset))
        return node_command(self.job, node, "trainer.node.follow", words)

    def _keep_beating(self) -> None:
        while not self.over.wait(BEAT_SECONDS):
            self._send(self._hosts_to_beat())

    def _hosts_to_beat(self) -> list[str]:
        return [node["host"] for node in self.nodes if not self._has_ended(node["host"])]

    def _send(self, hosts: list[str]) -> None:
        """Renew the lease; once the network is proved say so, that ranks which an elastic run
        starts again need not prove it."""
        for host in hosts:
            try:
                if host in self.channels:
                    self.channels[host].send(b"go\n" if self.passed else b"\n")
            except (OSError, EOFError):
                pass  # its listener sees the same

    def _all_ended(self) -> bool:
        return self.news.empty() and all(self._has_ended(node["host"]) for node in self.nodes)

    def _was_cut_off(self, host: str) -> bool:
        """Whether a node ended for no fault of its own processes."""
        status = self.states.get(host, {})
        cause = status.get("cause")
        kind = cause.get("kind") if isinstance(cause, dict) else None
        return status.get("state") == "lost" or (self._has_ended(host) and kind == FIRST_NODE_LOST)

    def _all_said(self) -> bool:
        return self.news.empty() and all(
            self._has_ended(node["host"]) or node["host"] in self.silent for node in self.nodes
        )

    def _has_ended(self, host: str) -> bool:
        return self.states.get(host, {}).get("state") in ENDED
