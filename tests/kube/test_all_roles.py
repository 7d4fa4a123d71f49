"""Every role that puts something into a cluster, typed one after the other by a user with just the
rights that kube.rights prints: there, unchanged when repeated, gone without a trace.

What is there is looked at with the real kubectl, against the names, images, privileges, tolerations
and resource names that the guides' own manifests have.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from playrunner.training.kube.rights_command import given
from tests.support.kube.account import account, storage  # noqa: F401
from tests.support.kube.addon_stage import ROOT, AddonStage
from tests.support.kube.definitions import SUSPENDING, minor_version
from tests.support.kube.module_stage import Api
from tests.support.kube.rendering import rendered
from tests.support.kube.role_facts import FACTS
from tests.support.kube.service_account import as_account, forget_account

# In the order of the facts: devices first, storage before what mounts it, operators before jobs.
ROLES = (
    "nvidia",
    "neuron",
    "efa",
    "gke-driver",
    "etcd",
    "efs",
    "fsx",
    "volcano",
    "kubeflow",
    "elastic",
    "jobset",
    "kubeflow-trainer",
    "kueue",
    "tensorboard",
    "node-contract",
)
# What steps before the manifests would give.
LEARNT = {
    "volcano_nodes": {
        "allocatable": {"cpu": "256", "memory": "1Gi", "aws.amazon.com/neuron": "32"}
    },
    "kueue_nodes": {"allocatable": {"cpu": "256", "memory": "1Gi", "nvidia.com/gpu": "8"}},
    "efs_csi_role": {"Arn": "arn:aws:iam::123456789012:role/demo-efs-csi"},
    "efs_mountable_id": "fs-1",
    "fsx_csi_role": {},
    "fsx_filesystem_id": "fs-2",
    "fsx_dns_name": "fs-2.fsx.us-west-2.amazonaws.com",
    "fsx_mount_name": "abcdefgh",
    "fsx_subnet_id": "subnet-1",
    "fsx_security_group_id": "sg-1",
}
# Custom kinds, which the validator does not know.
OWN_KINDS = ("scheduling.volcano.sh", "kueue.x-k8s.io", "trainer.kubeflow.org")
# Things that come and go by themselves, whoever is in the cluster.
PASSING = {"events", "leases", "endpointslices", "componentstatuses"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_all_roles_come_are_left_alone_and_go(storage: AddonStage) -> None:
    gpu = storage.machine("gpu", "g4dn.xlarge", {"nvidia.com/gpu": 1})
    trainium = storage.machine(
        "trainium", "trn1.32xlarge", {"aws.amazon.com/neuron": 16, "vpc.amazonaws.com/efa": 8}
    )
    before = everything(storage.api)
    accounts = {purpose: f"{storage.own}-{purpose}" for purpose in ("add-ons", "audit")}
    rights = {
        purpose: given(purpose, "default", f"default:{name}") for purpose, name in accounts.items()
    }
    files = {
        purpose: as_account(storage.api, storage.folder, name, rights[purpose])
        for purpose, name in accounts.items()
    }
    storage.variables["kubeconfig"] = str(files["add-ons"])
    # Its proof is a suspended Job
    words = ("--extra-vars", "kueue_proof=false") if minor_version(storage) < SUSPENDING else ()
    try:
        for role in ROLES:
            made = storage.invoke(f"{role}.create", *words)
            assert made.code == 0, made.text
        _agree_with_the_facts(storage)
        assert storage.allocatable(gpu, "nvidia.com/gpu") == "1"
        assert storage.allocatable(trainium, "aws.amazon.com/neuron") == "16"
        assert storage.allocatable(trainium, "vpc.amazonaws.com/efa") == "8"
        again = storage.invoke("play", _all_at_once(storage), "--json", *words)
        changed = [
            result["step"] for result in again.data["results"] if result["status"] == "changed"
        ]
        assert again.code == 0 and changed == [], changed
        storage.variables["kubeconfig"] = str(files["audit"])
        for role in ROLES:
            looked = storage.invoke(f"{role}.status")
            assert looked.code == 0 and "forbidden" not in looked.text, looked.text
    finally:
        storage.variables["kubeconfig"] = str(files["add-ons"])
        ended = [storage.delete(role.replace("-", "_")) for role in reversed(ROLES)]
        for purpose, name in accounts.items():
            forget_account(storage.api, name, rights[purpose])
    assert [one.code for one in ended] == [0] * len(ROLES), [one.data for one in ended if one.code]
    storage.awaited(lambda: everything(storage.api) == before)


@pytest.mark.parametrize(
    ("inventory", "role", "versions"),
    [
        ("eks-trainium", "volcano", "current"),
        ("eks-cpu", "kubeflow", "current"),
        ("eks-cpu", "kubeflow", "guide"),
        ("eks-gpu", "elastic", "current"),
        ("eks-gpu", "jobset", "current"),
        ("eks-gpu", "kubeflow_trainer", "current"),
        ("eks-gpu", "kueue", "current"),
        ("eks-gpu", "efs", "current"),
        ("eks-trainium", "fsx", "guide"),
    ],
)
def test_what_operators_and_drivers_bring_is_valid_in_every_version(
    inventory: str, role: str, versions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason='manifests are checked with "kubernetes-validate"'
    )
    monkeypatch.chdir(ROOT)
    text = rendered(role, [inventory], versions=versions, **LEARNT)
    bodies = [
        body
        for body in yaml.safe_load_all(text)
        if body and not body["apiVersion"].startswith(OWN_KINDS)
    ]
    assert len(bodies) > 5
    for body in bodies:
        for minor in (29, 36):
            try:
                validate.validate(body, f"1.{minor}", strict=True)
            except validate.ValidationError as error:
                raise AssertionError(
                    f"1.{minor}: {body['kind']} {body['metadata']['name']}: {error}"
                ) from None


def everything(api: Api) -> set[str]:
    """Each object of the cluster, of whatever kind: kind, namespace and name."""
    lists = [("/api/v1", api.call("GET", "/api/v1")["resources"])]
    for group in api.call("GET", "/apis")["groups"]:
        path = f"/apis/{group['preferredVersion']['groupVersion']}"
        lists.append((path, (api.get(path) or {}).get("resources") or ()))
    found = set()
    for path, resources in lists:
        for resource in resources:
            if (
                "list" in resource["verbs"]
                and "/" not in resource["name"]
                and resource["name"] not in PASSING
            ):
                for one in (api.get(f"{path}/{resource['name']}") or {}).get("items") or ():
                    found.add(
                        f"{resource['kind']}"
                        f" {one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
                    )
    return found


def _all_at_once(stage: AddonStage) -> str:
    """The same roles in one play: a second time for each of them."""
    file = stage.folder / "all.yaml"
    roles = [role.replace("-", "_") for role in ROLES]
    file.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "roles": roles}]))
    return str(file)


def _agree_with_the_facts(stage: AddonStage) -> None:
    """All of one namespace are asked for at once, and shown in the order they were asked for."""
    for place in sorted({what.partition(" ")[2] for what in FACTS}):
        names = [what.partition(" ")[0] for what in FACTS if what.partition(" ")[2] == place]
        answer = _kubectl(stage, "get", *names, *place.split(), "-o", "json")
        told = answer.get("items", [answer])  # one that is asked for alone is shown alone
        assert [one["metadata"]["name"] for one in told] == [
            name.partition("/")[2] for name in names
        ]
        for name, one in zip(names, told, strict=True):
            assert one["metadata"]["labels"]["playrunner.io/cluster"] == stage.own, name
            for path, wanted in FACTS[f"{name} {place}".strip()].items():
                seen = _at(one, path.strip("{}").lstrip(".")).split()
                missing = [word for word in wanted.split() if word not in seen]
                assert not missing and (wanted or not seen), f"{name}{path}: {seen}"


def _at(thing: Any, path: str) -> str:
    """A field as kubectl's jsonpath shows it."""
    found = [thing]
    for word in path.replace("[", ".[").split("."):
        if word == "[*]":
            found = [inner for one in found for inner in one or ()]
        elif word.startswith("["):
            found = [one[int(word[1:-1])] for one in found]
        else:
            found = [one.get(word) for one in found if one.get(word) is not None]
    return " ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in found)


def _kubectl(stage: AddonStage, *words: str) -> Any:
    environment = {**os.environ, "KUBECONFIG": str(stage.api.kubeconfig), "HOME": str(stage.folder)}
    ran = subprocess.run(
        ["kubectl", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, f"kubectl {' '.join(words)}: {ran.stderr}"
    return json.loads(ran.stdout)
