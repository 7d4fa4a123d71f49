"""Ranks that import torch while their launch is still checked and staged."""

from __future__ import annotations

from tests.support.launch.node_processes import processes_with
from tests.support.launch.site import Site
from tests.support.until import until

PREPARED = b"trainer.node.prepared_rank"


def test_the_second_launch_on_a_node_trains_in_prepared_ranks_on_the_same_curve(
    site: Site,
) -> None:
    assert site.launch("unprepared", "--nodes", 2).code == 0
    running = site.begin("prepared", "--nodes", 2)
    site.await_step("prepared", 1, running)
    ranks = {site.rank("prepared", rank) for rank in (0, 1)}
    assert ranks == set(processes_with(site, PREPARED))
    running.communicate(timeout=120)
    assert running.returncode == 0
    assert site.losses("prepared") == site.losses("unprepared")
    assert processes_with(site, PREPARED) == []


def test_a_rank_whose_variables_turn_out_otherwise_is_not_the_prepared_one(site: Site) -> None:
    assert site.launch("with-one-core", "--nodes", 1).code == 0
    for known in (site.state / "training" / "machines").iterdir():
        known.write_text(known.read_text().replace('"cores": ', '"cores": 7'))
    running = site.begin("with-others", "--nodes", 1)
    site.await_step("with-others", 1, running)
    assert processes_with(site, PREPARED) == []
    running.communicate(timeout=120)
    assert running.returncode == 0


def test_a_launch_that_is_refused_leaves_no_prepared_rank_and_no_folder(site: Site) -> None:
    assert site.launch("accepted", "--nodes", 2).code == 0
    data = ("train.data.source=text", "train.data.path=/nowhere")
    refused = site.begin("refused", "--nodes", 2, settings=data)
    # They are there for a moment only: looked for without a pause
    until(
        lambda: processes_with(site, PREPARED),
        seconds=60,
        what="prepared ranks",
        process=refused,
        pause=lambda: None,
    )
    _, told = refused.communicate(timeout=60)
    assert refused.returncode == 6, told
    assert "/nowhere: no such file" in told
    site.await_that(
        lambda: not processes_with(site, PREPARED), "the end of what was prepared", seconds=5
    )
    assert not site.folder("refused").exists()
