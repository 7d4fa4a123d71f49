"""Roles in a cluster find it: by the inventory, by --kubeconfig, or because the same play makes it;
and say when they cannot."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.lifecycle.teardown import tear_down
from playrunner.options import Options
from playrunner.playbook.playbook import roles_play
from playrunner.run.run import run_plays
from tests.support.aws.sandbox import PretendAws
from tests.support.kube.addon_stage import ROOT, AddonStage, heard
from tests.support.kube.module_stage import Api

NAME = "nvidia-device-plugin-daemonset"


def test_a_kubeconfig_of_the_command_line_wins_over_the_inventory(stage: AddonStage) -> None:
    stage.variables |= {
        "kubeconfig": str(stage.folder / "not-there.yaml"),
        "kube_context": "nobody",
    }
    lost = stage.invoke("nvidia.create", "--json")
    assert lost.code == 2 and "not-there.yaml" in lost.out, lost.text
    flag = ("--kubeconfig", str(stage.api.kubeconfig))
    assert stage.invoke("nvidia.create", *flag).code == 0
    assert stage.object("apps/v1", "daemonsets", NAME, "kube-system")
    shown = stage.invoke("nvidia.status", "--json", *flag)
    assert [row["state"] for row in shown.data["things"]] == ["there"]
    gone = stage.invoke("nvidia.delete", "--yes", *flag)
    assert gone.code == 0 and stage.object("apps/v1", "daemonsets", NAME, "kube-system") is None, (
        gone.text
    )


def test_names_with_a_dash_are_roles_with_an_underscore(stage: AddonStage) -> None:
    checked = stage.invoke("gke-driver.check", "--json", "--exit-code")
    assert checked.code == 3 and [one["step"] for one in checked.data["results"]] == [
        "gke_driver : gke driver installer"
    ]
    assert stage.invoke("node-contract.check", "--json").code == 0


def test_a_context_that_is_not_there_is_named_with_those_that_are(stage: AddonStage) -> None:
    lost = stage.create("nvidia", kube_context="torchelastic")
    assert (
        lost.code == 2 and 'there is no context "torchelastic"; there are: sandbox' in lost.messages
    ), lost.messages


def test_an_older_auth_provider_entry_is_left_to_the_kubernetes_package(stage: AddonStage) -> None:
    """What kubeconfigs had before commands that print a token."""
    config = yaml.safe_load(stage.api.kubeconfig.read_text())
    (user,) = config["users"]
    kept = {"access-token": user["user"]["token"], "expiry": "2999-01-01T00:00:00Z"}
    claims = base64.urlsafe_b64encode(b'{"exp": 1}').decode().rstrip("=")
    issuer = "https://127.0.0.1:1"  # where none answers
    ended = {"id-token": f"{claims}.{claims}.x", "client-id": "x", "idp-issuer-url": issuer}
    answers = []
    for name, settings in (("gcp", kept), ("oidc", ended)):
        user["user"] = {"auth-provider": {"name": name, "config": settings}}
        older = stage.folder / f"{name}.yaml"
        older.write_text(yaml.safe_dump(config))
        answers.append(stage.invoke("nvidia.status", "--json", "--kubeconfig", str(older)))
    good, refused = answers
    assert good.code == 0 and "things" in good.data, good.text
    assert refused.code == 2 and "the auth-provider entry cannot be used" in refused.text
    assert "oidc.yaml" in refused.text and "127.0.0.1" in refused.text, refused.text


class Account:
    """A pretend AWS, and an inventory that leads to it, for the roles that make a cluster."""

    def __init__(self, aws: PretendAws, folder: Path) -> None:
        self.aws, self.folder, self.own = aws, folder, f"t{secrets.token_hex(4)}"
        self.kubeconfig = folder / "kubeconfig.yaml"

    def options(self, **more: Any) -> Options:
        variables = {
            "cluster_name": self.own,
            "aws_region": self.aws.up.region,
            "aws_endpoint_url": self.aws.up.endpoint_url,
            "aws_profile": "sandbox",
            "aws_credentials_file": str(self.aws.root / "aws-credentials"),
            "network_zones": ["us-west-2a", "us-west-2b"],
            "network_nat": "none",
            "kubeconfig": str(self.kubeconfig),
            "eks_kubeconfig_path": str(self.kubeconfig),
            **more,
        }
        file = self.folder / "account.yaml"
        file.write_text(yaml.safe_dump({"all": {"vars": variables}}))
        return Options((str(ROOT / "inventories" / "eks-gpu.yaml"), str(file)), yes=True, json=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendAws]:
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    from playrunner.sandbox.aws.api import process

    root = tmp_path_factory.mktemp("account")
    try:
        yield PretendAws(root)
    finally:
        process.down(root)


@pytest.fixture
def account(server: PretendAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(ROOT)
    server.control("POST", "reset")
    server.delays(**{"*": 0.0})
    return Account(server, tmp_path)


def create(account: Account, *roles: str, **more: Any) -> dict[str, str]:
    code, text = heard(lambda: run_plays([roles_play(roles)], account.options(**more), "create"))
    results = json.loads(text)["results"]
    assert code == 0, [one["values"].get("msg") for one in results if one["status"] == "failed"]
    return {one["step"]: one["status"] for one in results}


def test_what_is_in_a_cluster_waits_for_it_and_goes_before_it(
    account: Account, cluster: Api
) -> None:
    """A sandbox's API stands where the pretend EKS has none; its context carries the name that
    EKS's would."""
    known, more = yaml.safe_load(cluster.kubeconfig.read_text()), {"eks_kubeconfig": False}
    content = {
        **known,
        "contexts": [{**known["contexts"][0], "name": account.own}],
        "current-context": account.own,
    }
    account.kubeconfig.write_text(yaml.safe_dump(content))
    made = create(account, "eks", "nvidia", **more)
    order = list(made)
    assert order.index("eks : eks node group") < order.index("nvidia : nvidia device plugin")
    assert cluster.get(f"/apis/apps/v1/namespaces/kube-system/daemonsets/{NAME}")
    code, text = heard(lambda: tear_down(replace(account.options(**more), json=False), True))
    gone = [line for line in text.splitlines() if line.startswith("deleted ")]
    first, last = (
        next(at for at, line in enumerate(gone) if what in line)
        for what in ("nvidia device plugin", "eks cluster")
    )
    assert code == 0 and first < last, text
    assert cluster.get(f"/apis/apps/v1/namespaces/kube-system/daemonsets/{NAME}") is None


def test_what_is_in_a_cluster_that_goes_is_not_missed_when_its_api_is_gone(
    account: Account,
) -> None:
    create(account, "eks")
    code, text = heard(lambda: tear_down(account.options(), True))
    assert code == 0 and "eks : eks cluster" in json.loads(text)["removed"], text


def test_teardown_of_an_inventory_without_a_cluster_looks_into_none(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(account.folder / "of-somebody-else.yaml"))
    code, text = heard(lambda: tear_down(account.options(kubeconfig="", kube_context=""), True))
    assert code == 0 and json.loads(text)["left"]["leftovers"] == 0, text
