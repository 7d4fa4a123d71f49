"""An elastic run over SSH begins on a number of nodes that it may have."""

from __future__ import annotations

import pytest

from playrunner.errors import BadInput
from playrunner.training.ssh.job import Job, NodeSlot, check_job, with_ranks
from trainer.profile import read_profile


def _job(launcher: str, nodes: int, *settings: str) -> Job:
    slots = [NodeSlot(f"node{number}", "127.0.0.1", 1, "/r", "python3") for number in range(nodes)]
    profile = read_profile("gpt2-micro-smoke", settings)
    return Job("sized", "sized-1", "gpt2-micro-smoke", profile, launcher, with_ranks(slots))


@pytest.mark.parametrize(("nodes", "remedy"), [(1, "min_nodes=1"), (4, "max_nodes=4")])
def test_a_number_outside_its_bounds_is_refused(nodes: int, remedy: str) -> None:
    bounds = ("launch.min_nodes=2", "launch.max_nodes=3", "train.batch_size=16")
    with pytest.raises(BadInput, match=f"--nodes {nodes}: .* --set launch.{remedy}"):
        check_job(_job("torchrun", nodes, *bounds))
    check_job(_job("torchrun", 2, *bounds))
    check_job(_job("direct", nodes, *bounds))  # not elastic: its bounds mean nothing
