"""inventories/eks-llama.yaml: machines, sizes, rendezvous and the hub's token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.options import Options
from playrunner.training.environment.variable import Variable
from playrunner.training.inventory_scope import scope_of, value_of
from playrunner.variables.asked_inventory import open_inventory
from tests.launch.unit.cluster.facts.guides import INVENTORIES
from tests.support import runner


def value(name: str, *extra: str) -> Any:
    options = Options((str(INVENTORIES / "eks-llama.yaml"),), extra_vars=extra)
    return value_of(scope_of(open_inventory(options), options), name, None)


def gpu_group(*extra: str) -> dict[str, Any]:
    (group,) = [each for each in value("eks_nodegroups", *extra) if each["name"] == "gpu"]
    return dict(group)


def test_gpu_machines_come_with_every_card_and_a_reservation_only_where_one_is_given() -> None:
    group = gpu_group()
    assert group["instance_types"] == ["p4d.24xlarge"] and group["efa"] is True
    assert (group["capacity_reservation_id"], group["capacity_type"]) == ("", "ON_DEMAND")
    block = gpu_group("llama_reservation=cr-1", "llama_capacity_type=CAPACITY_BLOCK")
    assert (block["capacity_reservation_id"], block["capacity_type"]) == ("cr-1", "CAPACITY_BLOCK")


@pytest.mark.parametrize(
    ("size", "nodes", "disk"), [("7b", 8, 1200), ("13b", 8, 1200), ("70b", 16, 4800)]
)
def test_nodes_and_storage_follow_from_the_size(size: str, nodes: int, disk: int) -> None:
    extra = f"llama_size={size}"
    assert int(gpu_group(extra)["desired_size"]) == nodes <= gpu_group(extra)["max_size"]
    assert int(value("fsx_capacity_gib", extra)) == disk


def test_pods_meet_at_etcd_with_the_guide_s_versions_whose_image_has_its_client() -> None:
    assert value("train_rendezvous") == "c10d"
    assert value("train_rendezvous", "versions=guide") == "etcd"
    assert value("train_etcd", "versions=guide") == "etcd:2379"


def test_the_hub_s_token_comes_from_the_environment_and_becomes_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert value("train_environment") == {}
    monkeypatch.setenv("HF_TOKEN", "hf_notreal")
    environment = value("train_environment")
    assert environment == {"HF_TOKEN": "hf_notreal"}
    variable = Variable("HF_TOKEN", environment["HF_TOKEN"], "", "inventory")
    assert variable.secret and "hf_notreal" not in repr(variable) and variable.shown == "(hidden)"


def test_without_a_token_the_story_ends_before_anything_is_asked_of_a_cloud(tmp_path: Path) -> None:
    words = ("play", "playbooks/train-on-eks-llama.yaml", "--inventory", "eks-llama", "--json")
    done = runner.finish(runner.start(*words, state=tmp_path, HF_TOKEN=""))
    assert done.code == 2, done.text
    (failed,) = [each for each in done.data["results"] if each["status"] == "failed"]
    assert failed["step"] == "token of the hub" and "set HF_TOKEN" in failed["values"]["msg"]
    assert {each["module"] for each in done.data["results"]} == {"play.assert"}


@pytest.mark.parametrize("inventory", sorted(path.stem for path in INVENTORIES.glob("eks-*.yaml")))
def test_jobs_look_for_etcd_where_etcd_create_puts_it(inventory: str) -> None:
    defaults = {
        name: value
        for role in ("etcd", "training")
        for name, value in yaml.safe_load(
            (INVENTORIES.parent / "roles" / role / "defaults" / "main.yaml").read_text()
        ).items()
    }
    given = yaml.safe_load((INVENTORIES / f"{inventory}.yaml").read_text())["all"]["vars"]
    known = {**defaults, **given}
    assert known["train_etcd"].partition(":")[0] == known["etcd_services"][0]
