"""`python -m trainer.gate --output FILE`: prove the network between all ranks before a real run needs it.

Started once per node (or per rank) with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and by choice NODE_NAME,
LOCAL_RANK and GATE_NODES (the nodes' names in rank order, to name one that never comes). All ranks meet, sum known
values together, then speak in pairs, one process per node. Rank 0 writes what it learnt to FILE as JSON and prints it as
`GATE {json}`; a rank that cannot reach rank 0 does the same with what it knows, to FILE's name with `.rankN` in it.
Bandwidths are in gigabits per second. Exit codes: 0 all answered, 5 bad input or no torch, 6 somebody did not answer or
a sum was wrong. Whether a link is fast enough is for the reader of the result to say.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trainer.errors import BadInput, TrainerError
from trainer.gate_plan import better, bus_gbps, rounds, second_look, silent
from trainer.gate_seat import Seat, seat_from

if TYPE_CHECKING:
    from trainer.gate_meeting import Meeting

_ENOUGH_ROUNDS = 3  # when time runs out every node has spoken to three others, which tells a bad node from a bad link
_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "FATAL",  # a refused connection is told in one line of ours
    # torch looks up the name of every address it connects to; without this a name server that drops the question costs 5 s.
    "RES_OPTIONS": "timeout:1 attempts:2",
    # An NCCL operation that gets no answer must raise here, not end the process from a thread.
    "TORCH_NCCL_BLOCKING_WAIT": "1",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "0",
}


def main(arguments: list[str] | None = None) -> int:
    began = time.monotonic()
    options = _parser().parse_args(arguments)
    try:
        sizes, seat = _sizes(options.sizes), seat_from(os.environ)
        _import_torch()
        from trainer.gate_meeting import Meeting, Unreachable

        try:
            meeting = Meeting(seat, options.join_seconds)
            if seat.rank:
                return _follow(meeting, seat, options)
            result = _Lead(meeting, seat, options, sizes).result()
        except Unreachable as error:
            result = _alone(seat, str(error))
        result["seconds"] = round(time.monotonic() - began, 3)
        _publish(result, options.output if seat.rank == 0 else _own_name(options.output, seat.rank))
        return 0 if _healthy(result) else 6
    except TrainerError as error:
        print(f"gate: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("trainer.gate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="the result, as JSON")
    parser.add_argument("--sizes", default="4096,1048576", metavar="BYTES,...", help="what to all-reduce (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="time for measuring (default: %(default)s)")
    parser.add_argument("--join-seconds", type=float, default=15.0, help="time for all to appear (default: %(default)s)")
    parser.add_argument("--answer-seconds", type=float, default=5.0, help="time for one message (default: %(default)s)")
    return parser


def _sizes(text: str) -> list[int]:
    words = [each.strip() for each in text.split(",") if each.strip()]
    if not words or not all(each.isdigit() and int(each) >= 4 for each in words):
        raise BadInput(f"--sizes {text}: not a list of byte counts of at least 4, as 4096,1048576")
    return sorted(int(each) for each in words)


def _import_torch() -> None:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import torch.distributed
    except (ImportError, OSError) as error:  # OSError: one of its libraries does not load
        raise BadInput(f"{sys.executable} cannot import torch, which the gate measures with: {error}") from None
    if not torch.distributed.is_available():
        raise BadInput(f"{sys.executable}: this torch was built without torch.distributed")


class _Lead:
    """Rank 0: gives out the tasks, takes part in each, and keeps account of who answered."""

    def __init__(self, meeting: Meeting, seat: Seat, options: argparse.Namespace, sizes: list[int]) -> None:
        self._meeting, self._seat, self._options, self._sizes = meeting, seat, options, sizes
        self._step = 0
        self._nodes = {0: seat.node}  # by rank, of those who came
        self._lost: dict[int, str] = {}  # rank -> what was going on when it stopped answering
        self._traffic: Any = None
        self._backend = "gloo"

    def result(self) -> dict[str, Any]:
        without_device = self._welcome()
        all_reduce: list[dict[str, Any]] = []
        pairs: dict[tuple[int, int], dict[str, Any]] = {}
        leaders = _first_ranks(self._nodes)
        planned = rounds(leaders)
        done = 0
        if not self._lost:
            self._traffic = _traffic(self._meeting, self._seat, self._backend, self._options)
            all_reduce = self._all_reduce()
            done = self._pairs(planned, pairs)
        result = {
            "world_size": self._seat.size,
            "backend": self._backend,
            "nodes": list(dict.fromkeys(self._nodes.get(rank) or self._seat.node_of(rank) for rank in range(self._seat.size))),
            "all_reduce": all_reduce,
            "pairs": [{"a": self._nodes[a], "b": self._nodes[b], **_rounded(each)} for (a, b), each in sorted(pairs.items())],
            "missing": [{"rank": rank, "node": self._nodes.get(rank) or self._seat.node_of(rank), "when": when}
                        for rank, when in sorted(self._lost.items())],
            "without_device": without_device,
            "rounds": {"planned": len(planned), "done": done},
            "problem": None,
        }
        self._dismiss(_healthy(result))
        return result

    def _welcome(self) -> list[str]:
        """Wait for all; returns the nodes without a GPU where others have one."""
        devices = {0: _has_device(self._seat)}
        came = self._meeting.answers("join", range(1, self._seat.size), self._options.join_seconds)
        for rank, each in came.items():
            self._nodes[rank], devices[rank] = each["node"], each["device"]
        self._lost = {rank: "joining" for rank in range(self._seat.size) if rank not in self._nodes}
        self._backend = "nccl" if all(devices.values()) else "gloo"
        bare = [self._nodes[rank] for rank in sorted(devices) if not devices[rank]] if any(devices.values()) else []
        return list(dict.fromkeys(bare))

    def _all_reduce(self) -> list[dict[str, Any]]:
        share = self._options.seconds / 4
        answers = self._ask({"do": "all_reduce", "label": "all-reduce", "sizes": self._sizes, "seconds": share}, share)
        lines = []
        for number, size in enumerate(self._sizes):
            each = [told[number] for told in answers.values() if number < len(told)]
            failed = [line["error"] for line in each if "error" in line]
            if failed or len(each) < self._seat.size:
                # A rank whose neighbour fell silent only sees its connections closed; the one that waited knows more.
                failed.sort(key=lambda text: not text.startswith("no answer"))
                lines.append({"bytes": size, "seconds": None, "bus_gbps": None, "wrong": None,
                              "error": failed[0] if failed else "not every rank finished"})
                break
            seconds = max(line["seconds"] for line in each)
            lines.append({"bytes": size, "seconds": round(seconds, 7), "wrong": sum(line["wrong"] for line in each),
                          "bus_gbps": round(bus_gbps(size, seconds, self._seat.size), 4)})
        return lines

    def _pairs(self, planned: list[list[tuple[int, int]]], found: dict[tuple[int, int], dict[str, Any]]) -> int:
        """Fill in what each pair measured; returns how many rounds there was time for."""
        share = min(0.5, self._options.seconds * 0.75 / max(len(planned), 1))
        ends = time.monotonic() + self._options.seconds
        done = 0
        for pairs in planned:
            if done >= _ENOUGH_ROUNDS and time.monotonic() > ends:
                break
            quiet = silent(found)
            for pair in pairs:
                known = next((rank for rank in pair if rank in self._lost), next((rank for rank in pair if rank in quiet), None))
                if known is not None:
                    found[pair] = {"error": f"not tried: {self._nodes[known]} had stopped answering", "tried": False}
            self._round([pair for pair in pairs if pair not in found], share, found)
            done += 1
        for pairs in second_look(found):
            if time.monotonic() > ends:
                break
            self._round(pairs, share, found)
        return done

    def _round(self, pairs: list[tuple[int, int]], share: float, found: dict[tuple[int, int], dict[str, Any]]) -> None:
        if not pairs:
            return
        answers = self._ask({"do": "pairs", "label": "pairs", "pairs": pairs, "seconds": share}, share)
        for a, b in pairs:
            said = answers.get(a) or {"error": f"{self._nodes[a]} stopped answering"}
            if "error" not in said and (b not in answers or "error" in answers[b]):
                said = answers.get(b) or {"error": f"{self._nodes[b]} stopped answering"}
            found[a, b] = better(found[a, b], said) if (a, b) in found else said

    def _ask(self, task: dict[str, Any], share: float) -> dict[int, Any]:
        """Have all who still answer do it; a second longer than they give themselves, and whoever is silent is lost."""
        ends = time.monotonic() + 2 * self._options.answer_seconds + share + 1
        self._meeting.announce(self._step, {**task, "backend": self._backend})
        answers = {0: _perform(task, self._step, self._traffic, 0)}
        others = [rank for rank in self._nodes if rank and rank not in self._lost]
        answers |= self._meeting.answers(self._step, others, ends - time.monotonic())
        self._lost |= {rank: task["label"] for rank in others if rank not in answers}
        self._step += 1
        return answers

    def _dismiss(self, healthy: bool) -> None:
        self._meeting.announce(self._step, {"do": "end", "healthy": healthy})
        # The store ends with this process: wait until all have read the last word.
        self._meeting.answers(self._step, [rank for rank in self._nodes if rank and rank not in self._lost], 2.0)


def _follow(meeting: Meeting, seat: Seat, options: argparse.Namespace) -> int:
    """Any other rank: do what rank 0 says until it says that this was all."""
    meeting.answer("join", {"node": seat.node, "device": _has_device(seat)})
    patience = options.join_seconds + 6 * options.answer_seconds + 2 * options.seconds
    traffic = None
    step = 0
    while True:
        task = meeting.hear(step, patience)
        if task["do"] == "end":
            meeting.answer(step, None)
            return 0 if task["healthy"] else 6
        traffic = traffic or _traffic(meeting, seat, task["backend"], options)
        meeting.answer(step, _perform(task, step, traffic, seat.rank))
        step += 1


def _perform(task: dict[str, Any], step: int, traffic: Any, rank: int) -> Any:
    if task["do"] == "all_reduce":
        return traffic.all_reduce(f"group/{step}", task["sizes"], task["seconds"])
    for a, b in task["pairs"]:
        if rank in (a, b):
            return traffic.pair(f"group/{step}/{a}-{b}", b if rank == a else a, task["seconds"])
    return None


def _traffic(meeting: Meeting, seat: Seat, backend: str, options: argparse.Namespace) -> Any:
    from trainer.gate_traffic import Traffic

    return Traffic(meeting.connect, seat.rank, seat.size, backend, seat.local_rank, options.answer_seconds)


def _has_device(seat: Seat) -> bool:
    import torch

    return bool(torch.cuda.is_available()) and seat.local_rank < torch.cuda.device_count()


def _first_ranks(nodes: dict[int, str]) -> list[int]:
    """One rank for each node: ranks of one node share its network card, and would only measure one another."""
    first: dict[str, int] = {}
    for rank in sorted(nodes):
        first.setdefault(nodes[rank], rank)
    return list(first.values())


def _alone(seat: Seat, problem: str) -> dict[str, Any]:
    """The result of a rank that has no meeting place."""
    missing = [{"rank": 0, "node": seat.node_of(0), "when": "joining"}] if seat.rank else []
    return {"world_size": seat.size, "backend": None, "nodes": [seat.node], "all_reduce": [], "pairs": [], "missing": missing,
            "without_device": [], "rounds": {"planned": 0, "done": 0}, "problem": problem}


def _healthy(result: dict[str, Any]) -> bool:
    return not (result["problem"] or result["missing"]
                or any(each.get("error") or each["wrong"] for each in result["all_reduce"])
                or any("error" in each for each in result["pairs"]))


def _rounded(each: dict[str, Any]) -> dict[str, Any]:
    if "error" in each:
        return {"latency_us": None, "gbps": None, **each}
    return {"latency_us": round(each["latency_us"], 1), "gbps": round(each["gbps"], 4), "bytes": each["bytes"]}


def _own_name(output: Path, rank: int) -> Path:
    """Beside rank 0's: nodes may share the folder."""
    return output.with_name(f"{output.stem}.rank{rank}{output.suffix}")


def _publish(result: dict[str, Any], output: Path) -> None:
    text = json.dumps(result)
    print(f"GATE {text}", flush=True)
    if result["problem"]:
        print(f"gate: {result['problem']}", file=sys.stderr, flush=True)
    scrap = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        scrap.write_text(text + "\n")
        os.replace(scrap, output)
    except OSError as error:
        raise BadInput(f"--output {output}: cannot be written: {error.strerror}") from None


def _travel_light() -> None:
    """Import torch in two thirds of the time, in a process that ends soon: eight on two cores spend most of it so."""
    gc.disable()
    # Shapes of operations for its compiler, which is not used here.
    sys.modules["torch._meta_registrations"] = ModuleType("torch._meta_registrations")


if __name__ == "__main__":
    _travel_light()
    code = main()
    sys.stdout.flush()
    # Straight out: connections to a peer that is gone would be waited for at exit.
    os._exit(code)
