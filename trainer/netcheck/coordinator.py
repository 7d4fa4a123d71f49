"""The network check's tasks: rank 0 assigns them and records answers; all ranks perform them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainer.netcheck.connectivity import CONNECT_SECONDS, Mesh, probed
from trainer.netcheck.pairing import better, bus_gbps, repeat_rounds, silent
from trainer.netcheck.process_rank import ProcessRank
from trainer.netcheck.search import most_rounds, next_round

if TYPE_CHECKING:
    from trainer.netcheck.rendezvous import Rendezvous

# Even without time left every node measures with three others, to tell a bad node from a bad link
_ENOUGH_ROUNDS = 3


class Coordinator:
    """Rank 0: gives out the tasks, takes part in each, and records which ranks answered."""

    def __init__(
        self,
        rendezvous: Rendezvous,
        process: ProcessRank,
        options: argparse.Namespace,
        sizes: list[int],
    ) -> None:
        self._rendezvous, self._process, self._options, self._sizes = (
            rendezvous,
            process,
            options,
            sizes,
        )
        self._step = 0
        self._nodes = {0: process.node}  # by rank, of those that joined
        self._lost: dict[int, str] = {}  # rank -> the task during which it stopped answering
        self._traffic: Any = None
        self._backend = "gloo"
        self._mesh = Mesh(process.address)
        self._addresses: dict[int, tuple[str, int] | None] = {}  # of each rank's listener

    def result(self, passed: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """`passed` decides whether training may begin, which the other ranks are sent."""
        without_device = self._await_ranks()
        joined_at = time.monotonic()
        all_reduce: list[dict[str, Any]] = []
        pairs: dict[tuple[int, int], dict[str, Any]] = {}
        leaders = _first_ranks(self._nodes)
        done = planned = 0
        if not self._lost:
            self._traffic = open_traffic(
                self._rendezvous, self._process, self._backend, self._options
            )
            pairs |= self._dead_links(leaders)
            # A sum needs every link; with a dead one each rank would wait for its timeout
            if not pairs and not self._lost:
                all_reduce = self._all_reduce()
            done, planned = self._search(leaders, pairs, 1 if pairs else 0)
        result = {
            "world_size": self._process.size,
            "backend": self._backend,
            "nodes": list(dict.fromkeys(map(self._node, range(self._process.size)))),
            "all_reduce": all_reduce,
            "pairs": [
                {"a": self._nodes[a], "b": self._nodes[b], **_rounded(figures)}
                for (a, b), figures in sorted(pairs.items())
            ],
            "missing": [
                {"rank": rank, "node": self._node(rank), "when": when}
                for rank, when in sorted(self._lost.items())
            ],
            "without_device": without_device,
            "rounds": {"planned": planned, "done": done},
            "problem": None,
            # Without the time to start programs and import libraries
            "measuring_seconds": round(time.monotonic() - joined_at, 3),
        }
        self._end(passed(result))
        return result

    def _node(self, rank: int) -> str:
        return self._nodes.get(rank) or self._process.node_of(rank)

    def _await_ranks(self) -> list[str]:
        """Wait for all ranks; returns the nodes without a GPU where others have one."""
        devices = {0: has_device(self._process)}
        self._addresses = {0: self._mesh.address}
        joined = self._rendezvous.answers(
            "join", range(1, self._process.size), self._options.join_seconds
        )
        for rank, answer in joined.items():
            if isinstance(answer, dict) and isinstance(answer.get("node"), str):
                self._nodes[rank], devices[rank] = answer["node"], bool(answer.get("device"))
                self._addresses[rank] = _address(answer.get("address"))
        self._lost = {
            rank: "joining" for rank in range(self._process.size) if rank not in self._nodes
        }
        self._backend = "nccl" if all(devices.values()) else "gloo"
        bare = (
            [self._nodes[rank] for rank in sorted(devices) if not devices[rank]]
            if any(devices.values())
            else []
        )
        return list(dict.fromkeys(bare))

    def _all_reduce(self) -> list[dict[str, Any]]:
        share = self._options.seconds / 4
        answers = self._ask(
            {"do": "all_reduce", "label": "all-reduce", "sizes": self._sizes, "seconds": share},
            share,
        )
        lines = []
        for number, size in enumerate(self._sizes):
            ranks = [answer[number] for answer in answers.values() if number < len(answer)]
            failed = [line for line in ranks if "error" in line]
            if failed or len(ranks) < self._process.size:
                # The rank that timed out knows more than one whose connection was closed.
                failed.sort(key=lambda line: not line.get("timed_out"))
                lines.append(
                    {
                        "bytes": size,
                        "seconds": None,
                        "bus_gbps": None,
                        "wrong": None,
                        "error": failed[0]["error"] if failed else "not every rank finished",
                    }
                )
                break
            seconds = max(line["seconds"] for line in ranks)
            lines.append(
                {
                    "bytes": size,
                    "seconds": round(seconds, 7),
                    "wrong": sum(line["wrong"] for line in ranks),
                    "bus_gbps": round(bus_gbps(size, seconds, self._process.size), 4),
                }
            )
        return lines

    def _search(
        self, leaders: list[int], measured: dict[tuple[int, int], dict[str, Any]], done: int
    ) -> tuple[int, int]:
        """Measure pairs in few rounds, into `measured`; how many rounds were done and planned."""
        most = most_rounds(len(leaders))
        share = min(0.5, self._options.seconds * 0.75 / max(most, 1))
        ends = time.monotonic() + self._options.seconds
        while done < most and (pairs := next_round(self._answering(leaders, measured), measured)):
            if done >= _ENOUGH_ROUNDS and time.monotonic() > ends:
                break
            self._round(pairs, share, measured)
            done += 1
        else:
            most = done
        for pairs in repeat_rounds(measured):
            if time.monotonic() > ends:
                break
            self._round(pairs, share, measured)
        self._note_untried(leaders, measured)
        return done, most

    def _answering(
        self, leaders: list[int], measured: dict[tuple[int, int], dict[str, Any]]
    ) -> list[int]:
        quiet = silent(measured)
        return [rank for rank in leaders if rank not in self._lost and rank not in quiet]

    def _note_untried(
        self, leaders: list[int], measured: dict[tuple[int, int], dict[str, Any]]
    ) -> None:
        """Record why pairs were not tried."""
        for rank in set(leaders) - set(self._answering(leaders, measured)):
            for other in leaders:
                pair = min(rank, other), max(rank, other)
                if other != rank and pair not in measured:
                    measured[pair] = {
                        "error": f"not tried: {self._nodes[rank]} had stopped answering",
                        "tried": False,
                    }

    def _dead_links(self, leaders: list[int]) -> dict[tuple[int, int], dict[str, Any]]:
        """Probe all links at once (of many nodes some of each), before a rank waits for a
        timeout."""
        addresses = {rank: self._addresses[rank] for rank in leaders if self._addresses[rank]}
        if len(leaders) < 2 or len(addresses) < len(leaders):
            return {}
        dead = {}
        task = {"do": "mesh", "label": "mesh", "addresses": addresses}
        for rank, errors in self._ask(task, CONNECT_SECONDS + 1).items():
            for other, error in (errors or {}).items():
                dead[min(rank, int(other)), max(rank, int(other))] = {"error": error}
        return dead

    def _round(
        self,
        pairs: list[tuple[int, int]],
        share: float,
        measured: dict[tuple[int, int], dict[str, Any]],
    ) -> None:
        if not pairs:
            return
        answers = self._ask(
            {"do": "pairs", "label": "pairs", "pairs": pairs, "seconds": share}, share
        )
        for a, b in pairs:
            figures = answers.get(a) or {"error": f"{self._nodes[a]} stopped answering"}
            if "error" not in figures and (b not in answers or "error" in answers[b]):
                figures = answers.get(b) or {"error": f"{self._nodes[b]} stopped answering"}
            earlier = measured.get((a, b))
            measured[a, b] = better(earlier, figures) if earlier else figures

    def _ask(self, task: dict[str, Any], share: float) -> dict[int, Any]:
        """Have all ranks that still answer perform a task; one that exceeds its own timeout by more
        than a second is lost."""
        ends = time.monotonic() + 2 * self._options.answer_seconds + share + 1
        self._rendezvous.announce(self._step, {**task, "backend": self._backend})
        answers = {0: perform(task, self._step, self._traffic, 0, self._mesh)}
        others = [rank for rank in self._nodes if rank and rank not in self._lost]
        answers |= self._rendezvous.answers(self._step, others, ends - time.monotonic())
        self._lost |= {rank: task["label"] for rank in others if rank not in answers}
        self._step += 1
        return answers

    def _end(self, healthy: bool) -> None:
        self._rendezvous.announce(self._step, {"do": "end", "healthy": healthy})
        # The store ends with this process: wait until all have read the task.
        self._rendezvous.answers(
            self._step, [rank for rank in self._nodes if rank and rank not in self._lost], 2.0
        )


def perform(task: dict[str, Any], step: int, traffic: Any, rank: int, mesh: Mesh) -> Any:
    if task["do"] == "all_reduce":
        return traffic.all_reduce(f"group/{step}", task["sizes"], task["seconds"])
    if task["do"] == "mesh":
        others = {int(key): address for key, address in task["addresses"].items()}
        if rank not in others:
            return None
        return mesh.unreachable({other: others[other] for other in probed(rank, sorted(others))})
    for a, b in task["pairs"]:
        if rank in (a, b):
            return traffic.pair(f"group/{step}/{a}-{b}", b if rank == a else a, task["seconds"])
    return None


def open_traffic(
    rendezvous: Rendezvous, process: ProcessRank, backend: str, options: argparse.Namespace
) -> Any:
    from trainer.netcheck.measure import Traffic

    return Traffic(
        rendezvous.connect,
        process.rank,
        process.size,
        backend,
        process.local_rank,
        options.answer_seconds,
    )


def has_device(process: ProcessRank) -> bool:
    import torch

    return bool(torch.cuda.is_available()) and process.local_rank < torch.cuda.device_count()


def _address(value: Any) -> tuple[str, int] | None:
    valid = isinstance(value, list | tuple) and [type(part) for part in value] == [str, int]
    return (value[0], value[1]) if valid else None


def _first_ranks(nodes: dict[int, str]) -> list[int]:
    """One rank for each node: ranks of one node share its network card."""
    first: dict[str, int] = {}
    for rank in sorted(nodes):
        first.setdefault(nodes[rank], rank)
    return list(first.values())


def healthy(result: dict[str, Any]) -> bool:
    return not (
        result["problem"]
        or result["missing"]
        or any(line.get("error") or line["wrong"] for line in result["all_reduce"])
        or any("error" in pair for pair in result["pairs"])
    )


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    if "error" in figures:
        return {"latency_us": None, "gbps": None, **figures}
    return {
        "latency_us": round(figures["latency_us"], 1),
        "gbps": round(figures["gbps"], 4),
        "bytes": figures["bytes"],
    }
