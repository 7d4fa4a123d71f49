"""The turns of a soak, and how often each is taken: a turn does something under a fault, then
without, and must come right."""

from __future__ import annotations

from collections.abc import Callable

from tests.soak.node_turns import launch, play
from tests.soak.service_turns import aws, cluster, google
from tests.soak.training_turns import training
from tests.soak.world import World

TURNS: dict[Callable[[World], str], int] = {
    play: 8,
    launch: 1,
    training: 2,
    aws: 1,
    google: 1,
    cluster: 1,
}
