"""What a namespace's rules say of a run's pods is told before anything is submitted, in their own
words.

The server is the sandbox's own; PLAYRUNNER_TEST_KUBE=real takes a real kube-apiserver where its
programs are found.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.client.transport import Transport
from playrunner.training.kube.job_spec.dry_run import pod_of, try_pod
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.one_off.side_pod import helper_pod, restricted
from playrunner.training.kube.plan import meeting_problems
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.session import ClusterSettings
from playrunner.training.request import LaunchRefused
from tests.support.kube.api_server import api  # noqa: F401
from tests.support.kube.module_stage import Api
from tests.support.kube.rendering import rendered
from tests.support.kube.service_account import as_account, no_rights
from tests.support.launch.policies import POLICIES, job, namespace, require, require_pod_security
from tests.support.until import until


@pytest.fixture
def kube(api: Api) -> Kube:
    return Kube(Cluster(lambda: Transport(access(KubeSettings(str(api.kubeconfig))))))


@pytest.mark.parametrize("launcher", KINDS)
@pytest.mark.parametrize("level", ["privileged", "baseline", "restricted"])
def test_every_kind_of_job_has_pods_that_every_standard_admits(
    api: Api, kube: Kube, launcher: str, level: str
) -> None:
    if level != "privileged":
        require_pod_security(api)
    tried = try_pod(kube, job(namespace(api, level), launcher))
    assert tried.settings.security == ("restricted" if level == "restricted" else "auto")
    security = pod_of(tried)["spec"]["securityContext"]
    assert security.get("runAsNonRoot", False) == (level == "restricted")


def test_a_restricted_namespace_refuses_in_its_own_words_what_the_inventory_insists_on(
    api: Api, kube: Kube
) -> None:
    require_pod_security(api)
    home = namespace(api, "restricted")
    with pytest.raises(LaunchRefused, match='violates PodSecurity "restricted:latest"') as refused:
        try_pod(kube, job(home, security="none"))
    said = str(refused.value)
    assert 'must set securityContext.capabilities.drop=["ALL"]' in said
    assert "train_security: restricted" in said and "nothing was submitted" in said


def test_a_pod_beside_a_run_is_refused_by_the_restricted_standard_until_it_is_made_for_it(
    api: Api,
) -> None:
    require_pod_security(api)
    path = f"/api/v1/namespaces/{namespace(api, 'restricted')}/pods?dryRun=All"
    run = job("default")
    plain = helper_pod(ClusterRun(run.summary(), Status("running")), "shell", ("sh",), "rehearsal")
    del plain["metadata"]["namespace"]
    assert "violates PodSecurity" in api.call("POST", path, plain)["message"]
    fitting = restricted(plain, replace(run.settings, security="restricted"))
    assert api.call("POST", path, fitting)["kind"] == "Pod"


def test_what_waits_for_a_pytorchjobs_master_is_admitted_by_the_restricted_standard(
    api: Api,
) -> None:
    require_pod_security(api)
    path = f"/api/v1/namespaces/{namespace(api, 'restricted')}/pods?dryRun=All"
    documents = yaml.safe_load_all(rendered("kubeflow", ["eks-existing"]))
    (config,) = (each for each in documents if each["kind"] == "ConfigMap")
    template = config["data"]["initContainer.yaml"].replace("{{.InitContainerImage}}", "alpine")
    worker = pod_of(job("default", "pytorchjob", security="restricted"))
    del worker["metadata"]["namespace"]
    worker["spec"]["initContainers"] = yaml.safe_load(template)
    assert api.call("POST", path, worker)["kind"] == "Pod"
    del worker["spec"]["initContainers"][0]["securityContext"]
    assert 'container "init-pytorch" must set' in api.call("POST", path, worker)["message"]


@pytest.mark.parametrize("launcher", KINDS)
def test_a_standard_that_only_warns_is_told_for_every_kind_of_job(
    api: Api, kube: Kube, launcher: str, capsys: pytest.CaptureFixture[str]
) -> None:
    require_pod_security(api)
    home = namespace(api)
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    api.merge(f"/api/v1/namespaces/{home}", label)
    tried = try_pod(kube, job(home, launcher, security="none"))
    said = capsys.readouterr().err
    assert tried.settings.security == "none", "a warning is no refusal"
    assert "the API server warns of a pod as" in said
    assert 'would violate PodSecurity "restricted:latest"' in said


@pytest.mark.parametrize("launcher", KINDS)
def test_a_policy_of_the_cluster_is_told_in_its_own_words_for_every_kind_of_job(
    api: Api, kube: Kube, launcher: str
) -> None:
    require(api, POLICIES, "admission policies")
    home = namespace(api)
    told = "pods of this team name a cost center"
    policy = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic{}"
    pods = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    rule = {"expression": "'cost-center' in object.metadata.labels", "message": told}
    for path, spec in (
        ("ies", {"matchConstraints": {"resourceRules": [pods]}, "validations": [rule]}),
        (
            "ybindings",
            {
                "policyName": home,
                "validationActions": ["Deny"],
                "matchResources": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": home}}
                },
            },
        ),
    ):
        made = api.call("POST", policy.format(path), {"metadata": {"name": home}, "spec": spec})
        assert made["kind"] != "Status", made
    # A server takes a moment to know of it
    refusal = until(lambda: refusal_of(kube, job(home, launcher)), bool, what="the policy in force")
    assert told in refusal and "nothing was submitted" in refusal


def refusal_of(kube: Kube, tried: ClusterJob) -> str:
    try:
        try_pod(kube, tried)
    except LaunchRefused as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("launcher", KINDS)
def test_a_quota_that_one_pod_is_beyond_is_told_for_every_kind_of_job(
    api: Api, kube: Kube, launcher: str
) -> None:
    home = namespace(api, resourcequotas={"hard": {"requests.memory": "1Gi"}})
    with pytest.raises(LaunchRefused, match=r"exceeded quota: rule, requested: requests\.memory="):
        try_pod(kube, job(home, launcher))


@pytest.fixture(scope="module")
def nobody(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Kube:
    """A user without rights, on a cluster that has the kinds of all operators."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for kind in KINDS.values():
        group, _, version = kind.resource[0].partition("/")
        plural = f"{kind.resource[1].lower()}s"
        served = {"name": version, "served": True, "storage": True,
                  "schema": {"openAPIV3Schema": schema}}  # fmt: skip
        names = {"kind": kind.resource[1], "plural": plural}
        if group != "batch":
            api.call(
                "POST",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                {
                    "metadata": {"name": f"{plural}.{group}"},
                    "spec": {"group": group, "scope": "Namespaced", "names": names,
                             "versions": [served]},
                },
            )  # fmt: skip
    kinds = [kind.resource for kind in KINDS.values()]
    until(
        lambda: [
            kind for group, kind in kinds if api.get(f"/apis/{group}/{kind.lower()}s") is None
        ],
        lambda missing: not missing,
        what="the definitions served",
    )
    folder = tmp_path_factory.mktemp("nobody")
    file = as_account(api, folder, "nobody", no_rights("nobody"))
    return Kube(Cluster(lambda: Transport(access(KubeSettings(str(file))))))


@pytest.mark.parametrize("launcher", KINDS)
def test_a_user_without_rights_is_told_the_missing_one_for_every_kind_of_job(
    nobody: Kube, launcher: str
) -> None:
    version, kind = KINDS[launcher].resource
    resource = Resource(version, kind, f"{kind.lower()}s", True)
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "default"}}
    assert try_pod(nobody, job("default", launcher)), "pods are its controller's to create"
    with pytest.raises(KubeError, match=r"cannot patch resource .*kube\.rights --for training"):
        nobody.apply(resource, body)


def test_a_quota_that_all_pods_together_are_beyond_is_told_with_the_numbers(
    api: Api, kube: Kube
) -> None:
    home = namespace(api, resourcequotas={"hard": {"pods": "1", "limits.memory": "100Gi"}})
    with pytest.raises(LaunchRefused, match="pods: 0 of 1 used, and 2 pods ask for 2 x 1"):
        try_pod(kube, job(home))


def test_memory_quotas_can_be_used_and_one_of_cores_limits_says_what_is_missing(
    api: Api, kube: Kube
) -> None:
    hard = {"requests.memory": "100Gi", "limits.memory": "100Gi", "requests.cpu": "100"}
    try_pod(kube, job(namespace(api, resourcequotas={"hard": hard})))
    strict = namespace(api, resourcequotas={"hard": {"limits.cpu": "100"}})
    with pytest.raises(
        LaunchRefused, match=r"must specify limits\.cpu( for: pytorch)?[;,].*train_resources"
    ):
        try_pod(kube, job(strict))
    sized = replace(job(strict, resources={"cpu": "2"}))
    try_pod(kube, sized)


def test_a_limit_range_is_told_with_its_bound(api: Api, kube: Kube) -> None:
    bound = {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}
    home = namespace(api, limitranges=bound)
    with pytest.raises(LaunchRefused, match="maximum memory usage per Container is 1Gi, but limit"):
        try_pod(kube, job(home))


def test_a_priority_class_that_is_not_there_is_told(api: Api, kube: Kube) -> None:
    with pytest.raises(LaunchRefused, match=r"no PriorityClass with name high.*priorityclasses"):
        try_pod(kube, job(namespace(api), priority_class="high"))


def test_a_meeting_place_that_is_not_there_is_told_and_one_outside_is_left_to_the_pods(
    api: Api, kube: Kube
) -> None:
    home = namespace(api)
    settings = ClusterSettings(namespace=home, rendezvous="etcd")
    (told,) = meeting_problems(kube, settings)
    assert f"no service etcd-service in namespace {home}" in told and "etcd.create" in told
    elsewhere = replace(settings, etcd=f"etcd.{home}.svc.cluster.local:2379")
    assert f"no service etcd in namespace {home}" in meeting_problems(kube, elsewhere)[0]
    assert meeting_problems(kube, replace(settings, rendezvous="c10d")) == []
    assert meeting_problems(kube, replace(settings, etcd="etcd.example.com:2379")) == []
    body = {"metadata": {"name": "etcd-service"}, "spec": {"ports": [{"port": 2379}]}}
    assert api.call("POST", f"/api/v1/namespaces/{home}/services", body)["kind"] == "Service"
    kube.refresh()
    assert meeting_problems(kube, settings) == []
