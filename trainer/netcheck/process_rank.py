"""This process's rank among the expected processes, from the launcher's variables; does not need
torch."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from trainer.errors import BadInput
from trainer.frozen import frozen


@frozen
class ProcessRank:
    """This process among the expected ones."""

    rank: int
    size: int
    local_rank: int
    node: str
    expected: tuple[str, ...]  # node names in rank order, if known
    address: str
    port: int

    @property
    def master(self) -> str:
        return f"{self.address}:{self.port}"

    def node_of(self, rank: int) -> str:
        return self.expected[rank] if rank < len(self.expected) else f"rank {rank}"


def process_rank_from(environment: Mapping[str, str]) -> ProcessRank:
    """The rank that the launcher's variables give."""
    size, rank = _number(environment, "WORLD_SIZE", 1), _number(environment, "RANK", 0)
    if not 0 <= rank < size:
        raise BadInput(f"RANK is {rank} but WORLD_SIZE is {size}")
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if size > 1 and not environment.get(name):
            raise BadInput(f"WORLD_SIZE is {size} but {name} is not set")
    expected = tuple(
        name.strip() for name in environment.get("GATE_NODES", "").split(",") if name.strip()
    )
    if expected and len(expected) != size:
        raise BadInput(
            f"GATE_NODES names {len(expected)} nodes but WORLD_SIZE is {size}; it needs one name"
            " per rank"
        )
    node = environment.get("NODE_NAME") or (expected[rank] if expected else socket.gethostname())
    return ProcessRank(
        rank,
        size,
        _number(environment, "LOCAL_RANK", 0),
        node,
        expected,
        environment.get("MASTER_ADDR") or "127.0.0.1",
        _number(environment, "MASTER_PORT", 0),
    )


def _number(environment: Mapping[str, str], name: str, otherwise: int) -> int:
    text = environment.get(name, "")
    if text and not text.lstrip("-").isdigit():
        raise BadInput(f"the environment's {name} is {text!r}, not a number")
    return int(text) if text else otherwise
