"""Which pod is rank 0: ranks are assigned at each rendezvous, so the newest log line of
torch's agents counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from playrunner.frozen import frozen

_MET = re.compile(r"Rendezvous complete for workers")
_WORD = re.compile(
    r"(?:^|\])\s*(group_rank|group_world_size|master_addr|master_port)=(\S+)"
)  # with or without a logger's prefix
_RANKED = re.compile(r"^\[(\d+)\] ")


@frozen
class Rendezvous:
    """What an agent said when the pods last met."""

    group_rank: int
    master: str = ""  # the address of the pod that is rank 0
    port: str = ""
    size: str = ""  # how many pods met
    count: int = 1  # how often they have met


def newest_rendezvous(lines: Iterable[str]) -> Rendezvous | None:
    """From one pod's log."""
    words: dict[str, str] = {}
    count = 0
    for line in lines:
        if _MET.search(line):
            words, count = {}, count + 1
        elif count and (said := _WORD.search(line)):
            words[said[1]] = said[2]
    if "group_rank" not in words or not words["group_rank"].isdigit():
        return None
    return Rendezvous(
        int(words["group_rank"]),
        words.get("master_addr", ""),
        words.get("master_port", ""),
        words.get("group_world_size", ""),
        count,
    )


def has_met_only(lines: Iterable[str]) -> bool:
    """Whether the pods have met and no rank has said anything since: its processes are only
    starting."""
    only = False
    for line in lines:
        only = bool(_MET.search(line)) or (only and rank_of(line) is None)
    return only


def first_of(logs: Mapping[str, Iterable[str]], addresses: Mapping[str, str]) -> str:
    """The pod that is rank 0 by its agent's group rank; else the one whose address the others name;
    nothing when none says."""
    met = {pod: meeting for pod, lines in logs.items() if (meeting := newest_rendezvous(lines))}
    if not met:
        return ""
    newest = max(meeting.count for meeting in met.values())
    own = [pod for pod, meeting in met.items() if meeting.group_rank == 0]
    if own:
        return max(own, key=lambda pod: met[pod].count)
    named = {meeting.master for meeting in met.values() if meeting.count == newest}
    return next(
        (
            pod
            for pod, address in addresses.items()
            if address in named or pod in named or any(name.startswith(f"{pod}.") for name in named)
        ),
        "",
    )


def rank_of(line: str) -> int | None:
    """The rank whose line this is; None for the agent's own."""
    said = _RANKED.match(line)
    return int(said[1]) if said else None
