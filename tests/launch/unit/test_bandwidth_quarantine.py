"""Who is put aside when a gate stays closed, and how it comes back: hosts by a record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.inventory.inventory import read_inventory
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import Quarantine, seconds_of
from playrunner.training.netcheck.spares import NoSpare, Search, should_retry
from playrunner.training.quarantine_setting import read_setting
from playrunner.training.ssh.nodes.pool import HostPool
from trainer.netcheck.verdict import Verdict

HOUR = 3600.0


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Fleet]]:
    """Hosts of an inventory whose records are the test's own; nobody is reached."""
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))

    def made(**addresses: str) -> Fleet:
        content = {
            "all": {
                "hosts": {name: {"ansible_host": address} for name, address in addresses.items()}
            }
        }
        (tmp_path / "inventory.yaml").write_text(json.dumps(content))
        return Fleet(read_inventory([str(tmp_path / "inventory.yaml")]))

    yield made


def named(fleet: Fleet) -> list[str]:
    return list(Quarantine(fleet).entries())


def test_a_host_is_put_aside_with_its_reason_and_let_out_again(fleet: Callable[..., Fleet]) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2")
    entry = Quarantine(hosts).put("b", "slow to everybody", HOUR)
    assert entry.reason == "slow to everybody" and 3500 < entry.until - time.time() <= HOUR
    assert named(hosts) == ["b"]
    assert Quarantine(hosts).release("b") and not Quarantine(hosts).release("b")
    assert named(hosts) == []


def test_time_heals_and_so_does_a_new_machine_under_the_old_name(
    fleet: Callable[..., Fleet],
) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2")
    Quarantine(hosts).put("a", "slow", -1)
    Quarantine(hosts).put("b", "slow", HOUR)
    assert named(hosts) == ["b"]
    assert named(fleet(a="10.0.0.1", b="10.0.0.9")) == []


def slow(*nodes: str) -> Verdict:
    return Verdict(False, tuple(f"{node} is slow to 2 of 2 nodes" for node in nodes), nodes, nodes)


def link(one: str, other: str) -> Verdict:
    return Verdict(False, (f"the link {one} - {other} is slow",), (one, other), (), ((one, other),))


def another_try(search: Search, verdict: Verdict, hosts: Fleet, wanted: int) -> bool:
    """Whether a launch on the first of these hosts would go on."""
    pool = HostPool(hosts, Options(), wanted)
    return should_retry(search, verdict, pool.left(())[:wanted], pool)


def test_a_culprit_leaves_at_once_where_another_can_take_its_place(
    fleet: Callable[..., Fleet],
) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3", d="10.0.0.4")
    assert another_try(Search("run"), slow("b"), hosts, 3)
    assert named(hosts) == ["b"]
    assert (
        Quarantine(hosts).entries()["b"].reason
        == "b is slow to 2 of 2 nodes (network check of run)"
    )


def test_without_a_spare_a_node_leaves_only_when_it_is_named_again_and_is_told_to_be_out(
    fleet: Callable[..., Fleet],
) -> None:
    hosts, search = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3"), Search("run")
    assert another_try(search, slow("b"), hosts, 3), "the network is checked again"
    assert named(hosts) == []
    with pytest.raises(NoSpare) as refused:
        another_try(search, slow("b"), hosts, 3)
    assert "b: named by 2 network checks and quarantined for 24h" in str(refused.value)
    assert "invoke nodes.release b (without it: --nodes 2)" in str(refused.value)
    assert named(hosts) == ["b"]


def test_a_gate_that_names_somebody_else_each_time_puts_nobody_aside(
    fleet: Callable[..., Fleet],
) -> None:
    hosts, search = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3"), Search("run")
    assert another_try(search, slow("b"), hosts, 3)
    assert not another_try(search, slow("c"), hosts, 3)
    assert named(hosts) == []


def test_without_a_spare_nobody_leaves_for_a_link_that_has_two_ends(
    fleet: Callable[..., Fleet],
) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2")
    assert not another_try(Search("run"), link("a", "b"), hosts, 2)
    assert named(hosts) == []


def test_when_most_nodes_are_bad_it_is_not_the_nodes(fleet: Callable[..., Fleet]) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3", d="10.0.0.4", e="10.0.0.5")
    assert not another_try(Search("run"), slow("a", "b"), hosts, 3)
    assert not another_try(Search("run"), Verdict(False, ("every link is slow",), ("a",)), hosts, 3)
    assert named(hosts) == []


def test_of_two_nodes_the_later_goes_first_and_comes_back_when_it_was_the_other(
    fleet: Callable[..., Fleet],
) -> None:
    hosts, search = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3", d="10.0.0.4"), Search("run")
    assert another_try(search, link("a", "b"), hosts, 2)
    assert named(hosts) == ["b"]
    assert another_try(search, link("a", "c"), hosts, 2)
    assert named(hosts) == ["a"]


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400.0), ("24h", 86400.0), ("3d", 259200.0)])
def test_a_time_is_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0h", "tomorrow", "5"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="90m, 24h or 3d"):
        seconds_of(text)


@pytest.mark.parametrize("value", ["cordn", "taint soon", "0h"])
def test_a_wrong_train_quarantine_is_told_with_what_it_may_be(value: str) -> None:
    with pytest.raises(BadInput, match="it is suggest, taint, cordon, a duration such as 24h"):
        read_setting(value)
