"""What the gate's processes do: rank 0 leads, gives out tasks and keeps account of who answered;
all perform them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainer.netcheck.connectivity import CONNECT_SECONDS, Mesh
from trainer.netcheck.pairing import better, bus_gbps, second_look, silent
from trainer.netcheck.process_rank import Seat
from trainer.netcheck.search import most_rounds, next_round

if TYPE_CHECKING:
    from trainer.netcheck.rendezvous import Meeting

# When time runs out every node has spoken to three others, which tells a bad node from a bad link
_ENOUGH_ROUNDS = 3


class Lead:
    """Rank 0: gives out the tasks, takes part in each, and keeps account of who answered."""

    def __init__(
        self, meeting: Meeting, seat: Seat, options: argparse.Namespace, sizes: list[int]
    ) -> None:
        self._meeting, self._seat, self._options, self._sizes = meeting, seat, options, sizes
        self._step = 0
        self._nodes = {0: seat.node}  # by rank, of those who came
        self._lost: dict[int, str] = {}  # rank -> what was going on when it stopped answering
        self._traffic: Any = None
        self._backend = "gloo"
        self._mesh = Mesh(seat.address)
        self._places: dict[int, tuple[str, int] | None] = {}  # where each rank is reached

    def result(self, opens: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """`opens` says of the result whether all may begin; the others hear it."""
        without_device = self._welcome()
        met = time.monotonic()
        all_reduce: list[dict[str, Any]] = []
        pairs: dict[tuple[int, int], dict[str, Any]] = {}
        leaders = _first_ranks(self._nodes)
        done = planned = 0
        if not self._lost:
            self._traffic = open_traffic(self._meeting, self._seat, self._backend, self._options)
            pairs |= self._dead_links(leaders)
            if (
                not pairs and not self._lost
            ):  # all must reach all for a sum, and one dead link costs every rank its patience
                all_reduce = self._all_reduce()
            done, planned = self._search(leaders, pairs, 1 if pairs else 0)
        result = {
            "world_size": self._seat.size,
            "backend": self._backend,
            "nodes": list(
                dict.fromkeys(
                    self._nodes.get(rank) or self._seat.node_of(rank)
                    for rank in range(self._seat.size)
                )
            ),
            "all_reduce": all_reduce,
            "pairs": [
                {"a": self._nodes[a], "b": self._nodes[b], **_rounded(each)}
                for (a, b), each in sorted(pairs.items())
            ],
            "missing": [
                {
                    "rank": rank,
                    "node": self._nodes.get(rank) or self._seat.node_of(rank),
                    "when": when,
                }
                for rank, when in sorted(self._lost.items())
            ],
            "without_device": without_device,
            "rounds": {"planned": planned, "done": done},
            "problem": None,
            "measuring_seconds": round(
                time.monotonic() - met, 3
            ),  # without what programs and libraries take to load
        }
        self._dismiss(opens(result))
        return result

    def _welcome(self) -> list[str]:
        """Wait for all; returns the nodes without a GPU where others have one."""
        devices = {0: has_device(self._seat)}
        self._places = {0: self._mesh.place}
        came = self._meeting.answers("join", range(1, self._seat.size), self._options.join_seconds)
        for rank, each in came.items():
            if isinstance(each, dict) and isinstance(
                each.get("node"), str
            ):  # what is not told so has not come
                self._nodes[rank], devices[rank] = each["node"], bool(each.get("device"))
                self._places[rank] = _place(each.get("place"))
        self._lost = {rank: "joining" for rank in range(self._seat.size) if rank not in self._nodes}
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
            each = [told[number] for told in answers.values() if number < len(told)]
            failed = [line["error"] for line in each if "error" in line]
            if failed or len(each) < self._seat.size:
                # A rank whose neighbour fell silent only sees its connections closed; the one that
                # waited knows more.
                failed.sort(key=lambda text: not text.startswith("no answer"))
                lines.append(
                    {
                        "bytes": size,
                        "seconds": None,
                        "bus_gbps": None,
                        "wrong": None,
                        "error": failed[0] if failed else "not every rank finished",
                    }
                )
                break
            seconds = max(line["seconds"] for line in each)
            lines.append(
                {
                    "bytes": size,
                    "seconds": round(seconds, 7),
                    "wrong": sum(line["wrong"] for line in each),
                    "bus_gbps": round(bus_gbps(size, seconds, self._seat.size), 4),
                }
            )
        return lines

    def _search(
        self, leaders: list[int], found: dict[tuple[int, int], dict[str, Any]], done: int
    ) -> tuple[int, int]:
        """Fill in what pairs measured, in few rounds; how many there were, and how many there
        should have been."""
        most = most_rounds(len(leaders))
        share = min(0.5, self._options.seconds * 0.75 / max(most, 1))
        ends = time.monotonic() + self._options.seconds
        while done < most and (pairs := next_round(self._answering(leaders, found), found)):
            if done >= _ENOUGH_ROUNDS and time.monotonic() > ends:
                break
            self._round(pairs, share, found)
            done += 1
        else:
            most = done
        for pairs in second_look(found):
            if time.monotonic() > ends:
                break
            self._round(pairs, share, found)
        self._leave_out(leaders, found)
        return done, most

    def _answering(
        self, leaders: list[int], found: dict[tuple[int, int], dict[str, Any]]
    ) -> list[int]:
        quiet = silent(found)
        return [rank for rank in leaders if rank not in self._lost and rank not in quiet]

    def _leave_out(self, leaders: list[int], found: dict[tuple[int, int], dict[str, Any]]) -> None:
        """Pairs that were not worth a try say so."""
        for rank in set(leaders) - set(self._answering(leaders, found)):
            for other in leaders:
                pair = min(rank, other), max(rank, other)
                if other != rank and pair not in found:
                    found[pair] = {
                        "error": f"not tried: {self._nodes[rank]} had stopped answering",
                        "tried": False,
                    }

    def _dead_links(self, leaders: list[int]) -> dict[tuple[int, int], dict[str, Any]]:
        """All of them at once, before anybody waits for one in vain."""
        places = {rank: self._places[rank] for rank in leaders if self._places[rank]}
        if len(leaders) < 2 or len(places) < len(leaders):
            return {}
        dead = {}
        for rank, said in self._ask(
            {"do": "mesh", "label": "mesh", "places": places}, CONNECT_SECONDS + 1
        ).items():
            for other, error in (said or {}).items():
                dead[min(rank, int(other)), max(rank, int(other))] = {"error": error}
        return dead

    def _round(
        self,
        pairs: list[tuple[int, int]],
        share: float,
        found: dict[tuple[int, int], dict[str, Any]],
    ) -> None:
        if not pairs:
            return
        answers = self._ask(
            {"do": "pairs", "label": "pairs", "pairs": pairs, "seconds": share}, share
        )
        for a, b in pairs:
            said = answers.get(a) or {"error": f"{self._nodes[a]} stopped answering"}
            if "error" not in said and (b not in answers or "error" in answers[b]):
                said = answers.get(b) or {"error": f"{self._nodes[b]} stopped answering"}
            found[a, b] = better(found[a, b], said) if (a, b) in found else said

    def _ask(self, task: dict[str, Any], share: float) -> dict[int, Any]:
        """Have all who still answer do it; a second longer than they give themselves, and whoever
        is silent is lost."""
        ends = time.monotonic() + 2 * self._options.answer_seconds + share + 1
        self._meeting.announce(self._step, {**task, "backend": self._backend})
        answers = {0: perform(task, self._step, self._traffic, 0, self._mesh)}
        others = [rank for rank in self._nodes if rank and rank not in self._lost]
        answers |= self._meeting.answers(self._step, others, ends - time.monotonic())
        self._lost |= {rank: task["label"] for rank in others if rank not in answers}
        self._step += 1
        return answers

    def _dismiss(self, healthy: bool) -> None:
        self._meeting.announce(self._step, {"do": "end", "healthy": healthy})
        # The store ends with this process: wait until all have read the last word.
        self._meeting.answers(
            self._step, [rank for rank in self._nodes if rank and rank not in self._lost], 2.0
        )


def perform(task: dict[str, Any], step: int, traffic: Any, rank: int, mesh: Mesh) -> Any:
    if task["do"] == "all_reduce":
        return traffic.all_reduce(f"group/{step}", task["sizes"], task["seconds"])
    if task["do"] == "mesh":
        others = {int(each): place for each, place in task["places"].items() if int(each) != rank}
        return mesh.unreachable(others) if len(others) < len(task["places"]) else None
    for a, b in task["pairs"]:
        if rank in (a, b):
            return traffic.pair(f"group/{step}/{a}-{b}", b if rank == a else a, task["seconds"])
    return None


def open_traffic(meeting: Meeting, seat: Seat, backend: str, options: argparse.Namespace) -> Any:
    from trainer.netcheck.measure import Traffic

    return Traffic(
        meeting.connect, seat.rank, seat.size, backend, seat.local_rank, options.answer_seconds
    )


def has_device(seat: Seat) -> bool:
    import torch

    return bool(torch.cuda.is_available()) and seat.local_rank < torch.cuda.device_count()


def _place(said: Any) -> tuple[str, int] | None:
    is_place = isinstance(said, list | tuple) and [type(part) for part in said] == [str, int]
    return (said[0], said[1]) if is_place else None


def _first_ranks(nodes: dict[int, str]) -> list[int]:
    """One rank for each node: ranks of one node share its network card, and would only measure one
    another."""
    first: dict[str, int] = {}
    for rank in sorted(nodes):
        first.setdefault(nodes[rank], rank)
    return list(first.values())


def healthy(result: dict[str, Any]) -> bool:
    return not (
        result["problem"]
        or result["missing"]
        or any(each.get("error") or each["wrong"] for each in result["all_reduce"])
        or any("error" in each for each in result["pairs"])
    )


def _rounded(each: dict[str, Any]) -> dict[str, Any]:
    if "error" in each:
        return {"latency_us": None, "gbps": None, **each}
    return {
        "latency_us": round(each["latency_us"], 1),
        "gbps": round(each["gbps"], 4),
        "bytes": each["bytes"],
    }
