"""kube.rights: what the code calls is in the roles that it prints."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import BadInput
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.rights import roles
from playrunner.training.kube.rights_command import given, show_rights


def allowed(role: dict[str, Any], group: str, resource: str) -> set[str]:
    return {
        verb
        for rule in role["rules"]
        if group in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_a_training_user_needs_nothing_outside_the_namespace() -> None:
    role, view, quarantine = roles("training")
    assert role["kind"] == "Role" and {view["kind"], quarantine["kind"]} == {"ClusterRole"}
    for kind in KINDS.values():
        group = kind.resource[0].rpartition("/")[0]
        assert {"create", "get", "list", "watch", "patch", "delete"} <= allowed(
            role, group, f"{kind.resource[1].lower()}s"
        )
    assert allowed(role, "kueue.x-k8s.io", "localqueues") == {"get"}
    assert allowed(role, "kueue.x-k8s.io", "workloads") == {"list"}
    assert allowed(role, "", "pods/log") == {"get"}
    assert allowed(role, "", "pods/exec") == {"get", "create"}
    assert "list" not in allowed(role, "", "secrets"), "only the run's own are read"
    assert not allowed(role, "", "nodes") and not allowed(role, "", "namespaces")


def test_what_is_read_in_the_whole_cluster_is_only_read() -> None:
    _, view, quarantine = roles("training")
    verbs = {verb for rule in view["rules"] for verb in rule["verbs"]}
    assert verbs <= {"get", "list", "watch"}
    assert allowed(quarantine, "", "nodes") == {"get", "list", "patch"}


def test_add_ons_may_grant_what_they_install_and_an_audit_only_reads() -> None:
    (role,) = roles("add-ons")
    assert "escalate" in allowed(role, "rbac.authorization.k8s.io", "clusterroles")
    assert "create" in allowed(role, "apiextensions.k8s.io", "customresourcedefinitions")
    for group, plural in (
        ("batch.volcano.sh", "jobs"),
        ("kubeflow.org", "pytorchjobs"),
        ("elastic.pytorch.org", "elasticjobs"),
        ("jobset.x-k8s.io", "jobsets"),
        ("trainer.kubeflow.org", "trainjobs"),
        ("trainer.kubeflow.org", "trainingruntimes"),
        ("batch", "jobs"),
    ):
        assert {"create", "delete"} <= allowed(role, group, plural), "roles end with a proof"
    assert {"list", "watch"} <= allowed(role, "scheduling.volcano.sh", "podgroups")
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        assert "create" in allowed(role, "admissionregistration.k8s.io", plural)
    (audit,) = roles("audit")
    assert {verb for rule in audit["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert not allowed(audit, "", "secrets")


def test_a_user_or_a_service_account_is_bound() -> None:
    (_, binding, *_) = given("training", "team", "team:guest")
    assert (binding["kind"], binding["subjects"][0]["kind"]) == ("RoleBinding", "ServiceAccount")
    assert given("audit", "team", "ann@example.com")[1]["subjects"][0]["kind"] == "User"
    with pytest.raises(BadInput, match="it is training, add-ons, audit"):
        show_rights("train", "team", "", False)
