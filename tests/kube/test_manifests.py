"""Manifests: each is valid Kubernetes of every version we speak of, and what inventories make of it
is kept for review.

tests/manifests/INVENTORY/ROLE.yaml is what ROLE.create would apply. PLAYRUNNER_WRITE_RENDERINGS=1
writes them anew.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.kube.rendering import ROOT, rendered

STORED = ROOT / "tests" / "manifests"
VERSIONS = [f"1.{minor}" for minor in range(29, 37)]

# Which roles an inventory is for, in the shapes of the guides; what other steps would register
# stands beside a role.
_EFS = {
    "efs_filesystem": {"FileSystemId": "fs-0123456789abcdef0"},
    "efs_mount_targets": {"results": []},
    "efs_csi_role": {"Arn": "arn:aws:iam::123456789012:role/torchelastic-efs-csi"},
}
_FSX = {
    "fsx_filesystem": {
        "FileSystemId": "fs-0123456789abcdef0",
        "DNSName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        "LustreConfiguration": {"MountName": "abcdefgh"},
    },
    "fsx_security_group": {"GroupId": "sg-0123456789abcdef0"},
    "fsx_subnet_id": "subnet-0123456789abcdef0",
    "fsx_csi_role": {"Arn": "arn:aws:iam::123456789012:role/my-trn1-cluster-fsx-csi"},
}
_NODES = {
    "nodes": ["a", "b"],
    "allocatable": {"cpu": "256", "aws.amazon.com/neuron": "32", "vpc.amazonaws.com/efa": "16"},
}
RENDERINGS: dict[str, dict[str, dict[str, Any]]] = {
    "eks-gpu": {
        "nvidia": {},
        "elastic": {},
        "efs": _EFS,
        "etcd": {
            "etcd_namespace": "elastic-job",
            "etcd_name": "etcd-deployment",
            "etcd_services": ["etcd-service"],
        },
    },
    "eks-trainium": {
        "neuron": {},
        "efa": {},
        "etcd": {"etcd_services": ["etcd-server", "etcd-client"]},
        "tensorboard": {},
        "volcano": {"volcano_nodes": _NODES},
        "fsx": _FSX,
    },
    "eks-cpu": {
        "etcd": {},
        "tensorboard": {
            "tensorboard_expose": "load_balancer",
            "tensorboard_tls_secret": "tensorboard-tls",
        },
    },
    "eks-existing": {
        "nvidia": {"versions": "guide"},
        "efa": {"versions": "guide"},
        "kubeflow": {},
        "node_contract": {"node_contract_groups": [{"name": "gpu", "modules": ["lustre"]}]},
    },
    "gke": {"gke_driver": {}, "nfs": {}},
}
CASES = [(inventory, role) for inventory, roles in RENDERINGS.items() for role in roles]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def text_of(inventory: str, role: str) -> str:
    return rendered(role, [inventory], **RENDERINGS[inventory][role])


@pytest.mark.parametrize(("inventory", "role"), CASES)
def test_what_an_inventory_makes_of_a_role_is_as_it_was_reviewed(inventory: str, role: str) -> None:
    stored, text = STORED / inventory / f"{role}.yaml", text_of(inventory, role)
    if os.environ.get("PLAYRUNNER_WRITE_RENDERINGS"):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(text)
    assert stored.is_file() and text == stored.read_text(), (
        f"{stored.relative_to(ROOT)} differs: PLAYRUNNER_WRITE_RENDERINGS=1 writes it, git diff"
        " shows what changes"
    )


def test_nothing_is_stored_that_nobody_renders() -> None:
    own = {f"{inventory}/{role}.yaml" for inventory, role in CASES}
    roles = {role for _, role in CASES}
    there = {
        str(file.relative_to(STORED)) for file in STORED.glob("*/*.yaml") if file.stem in roles
    }
    assert there == own


@pytest.mark.parametrize("version", VERSIONS)
def test_every_rendering_is_valid_in_every_version(version: str) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason='manifests are checked with "kubernetes-validate"'
    )
    kinds: dict[tuple[str, str], list[str]] = {}
    for title, body in stored().items():
        if not _is_custom(str(body["apiVersion"])):
            kinds.setdefault((str(body["apiVersion"]), str(body["kind"])), []).append(title)
    assert kinds
    for (api_version, kind), titles in kinds.items():
        # All objects of a kind as one list: the schema of a kind takes longer to read than to use.
        every = {
            "apiVersion": api_version,
            "kind": f"{kind}List",
            "metadata": {},
            "items": [stored()[title] for title in titles],
        }
        try:
            validate.validate(every, version, strict=True)
        except validate.ValidationError as error:
            raise AssertionError(f"{error}\n{titles}") from None


def test_every_port_names_its_protocol() -> None:
    """Some API servers cannot tell ports without it apart in a server-side apply."""
    for title, body in stored().items():
        for port in _ports(body):
            assert "protocol" in port, f"{title}: {port}"


def test_every_image_is_pinned_and_comes_from_one_file() -> None:
    pins = yaml.safe_load((ROOT / "manifests" / "versions.yaml").read_text())
    for role, things in pins.items():
        for thing, sets in things.items():
            assert set(sets) - {"checked"} == {"guide", "current"}, f"{role}.{thing}"
            for pin in sets.values():
                assert not str(pin).endswith(":latest"), f"{role}.{thing}: {pin}"
    for file in (ROOT / "manifests").glob("*/*.j2"):
        for line in file.read_text().splitlines():
            if line.strip().removeprefix("- ").startswith("image:"):
                assert "{{" in line, f"{_shown(file)}: {line.strip()} is not from versions.yaml"


YEAR = timedelta(days=365)
OF_OUR_OWN = {"tensorboard", "node_contract", "nccl_image"}  # upstream has no manifest of them


def test_what_was_compared_with_its_upstream_long_ago_is_listed() -> None:
    pins = yaml.safe_load((ROOT / "manifests" / "versions.yaml").read_text())
    days = {
        f"{role}.{thing}": sets["checked"]
        for role, things in pins.items()
        for thing, sets in things.items()
        if "checked" in sets
    }
    never = {
        f"{role}.{thing}"
        for role, things in pins.items()
        for thing, sets in things.items()
        if role not in OF_OUR_OWN and isinstance(sets["current"], str) and "checked" not in sets
    }
    assert not never, f"never compared with upstream: {sorted(never)}"
    assert all(isinstance(day, date) for day in days.values()), days
    old = [name for name, day in days.items() if date.today() - day > YEAR]
    if old:
        warnings.warn(
            f"compared with upstream more than a year ago: {', '.join(old)}", stacklevel=1
        )


@cache
def stored() -> dict[str, dict[str, Any]]:
    """Every object of every rendering, once where several have the same, by where it stands."""
    found: dict[str, dict[str, Any]] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in sorted(STORED.glob("*/*.yaml")):
        for body in filter(None, yaml.load_all(file.read_text(), Loader=loader)):
            if body not in found.values():
                found[f"{_shown(file)}: {body['kind']} {body['metadata']['name']}"] = body
    return found


def _ports(body: Any) -> Iterator[dict[str, Any]]:
    """The ports of services and containers, wherever they are."""
    for value in (
        body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    ):
        yield from _ports(value)
    if isinstance(body, dict) and ("containerPort" in body or "targetPort" in body):
        yield body


def _is_custom(version: str) -> bool:
    """Of a kind that a definition brings, which no schema of Kubernetes knows."""
    group = version.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def _shown(file: Path) -> str:
    return str(file.relative_to(ROOT))
