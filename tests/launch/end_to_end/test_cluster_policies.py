"""Every kind of job under every policy of its namespace, by the command line: it trains, or it is
refused with the true reason and leaves nothing behind.

The restricted Pod Security Standard is enforced where all kinds train anyway: in test_cluster.py
and test_cluster_jobset.py. Here are a quota and missing rights, for every kind; and the standards
privileged and baseline and a quota with room, for the plain Job. PLAYRUNNER_MATRIX=all trains with
every kind (four minutes, with all operators).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from playrunner.sandbox.kube.operators import kinds
from playrunner.training.kube.job_spec.names import LABEL
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.rights_command import given
from tests.support.kube.operators_stage import definition
from tests.support.kube.service_account import as_account, no_rights
from tests.support.launch.cluster import ROLES, ClusterSite, cluster_site

ALL = os.environ.get("PLAYRUNNER_MATRIX") == "all"
SHORT = (
    "train.steps=2",
    "train.log.every=1",
    "train.schedule.warmup_steps=1",
    "train.evaluate.batches=1",
    "train.device=cpu",
)
SERVED = (
    kinds.PYTORCH_JOBS,
    kinds.ELASTIC_JOBS,
    kinds.VOLCANO_JOBS,
    kinds.QUEUES,
    kinds.JOB_SETS,
    kinds.TRAIN_JOBS,
    kinds.RUNTIMES,
)
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("policies")) as made:
        if ALL:
            for launcher in ROLES:
                made.install(launcher)
        else:
            _serve_kinds(made)
        yield made


@pytest.fixture
def cluster(site: ClusterSite, launcher: str) -> Iterator[ClusterSite]:
    if "batch" in KINDS[launcher].resource[0] and launcher != "vcjob" and not site.indexed:
        pytest.skip("this API server is older than Indexed Jobs")
    yield site
    site.say()
    site.enforce("")


@pytest.fixture(scope="module")
def without_rights(site: ClusterSite) -> str:
    """The kubeconfig of a user without rights."""
    return str(as_account(site.api, site.state, "without-rights", no_rights("without-rights")))


@pytest.mark.parametrize("launcher", KINDS)
def test_a_quota_that_one_pod_is_beyond_refuses_every_kind_of_job_with_its_numbers(
    cluster: ClusterSite, launcher: str
) -> None:
    with quota(cluster, **{"requests.memory": "1Gi"}):
        before = traces(cluster)
        refused = cluster.launch("beyond", *words(launcher), settings=SHORT)
        assert traces(cluster) == before
    assert refused.code == 6, refused.text
    (line,) = refused.text.splitlines()
    assert "exceeded quota: team, requested: requests.memory=" in line
    assert "used: requests.memory=0, limited: requests.memory=1Gi" in line
    assert "nothing was submitted" in line


@pytest.mark.parametrize("launcher", KINDS)
def test_a_user_without_rights_is_refused_for_every_kind_of_job_with_the_missing_one(
    cluster: ClusterSite, without_rights: str, launcher: str
) -> None:
    before = traces(cluster)
    cluster.say(kubeconfig=without_rights)
    refused = cluster.launch("without-rights", *words(launcher), settings=SHORT)
    assert traces(cluster) == before
    assert refused.code == 2, refused.text
    (line,) = refused.text.splitlines()
    assert 'cannot get resource "persistentvolumeclaims"' in line
    assert "kube.rights --for training" in line


@pytest.mark.parametrize("launcher", KINDS)
def test_a_user_who_may_create_all_but_the_job_is_refused_and_its_other_objects_are_deleted(
    cluster: ClusterSite, launcher: str
) -> None:
    before = traces(cluster)
    plural = f"{KINDS[launcher].resource[1].lower()}s"
    cluster.say(kubeconfig=_looks_only(cluster, launcher, plural))
    refused = cluster.launch("lookers", *words(launcher), settings=SHORT)
    assert traces(cluster) == before
    assert refused.code == 2, refused.text
    assert f'cannot patch resource "{plural}"' in refused.err, refused.text
    assert "kube.rights --for training" in refused.err
    assert "Traceback" not in refused.text


@pytest.mark.parametrize("policy", ["privileged", "baseline", "quota with room"])
@pytest.mark.parametrize("launcher", KINDS)
def test_every_kind_of_job_trains_where_the_policy_admits_its_pods(
    cluster: ClusterSite, launcher: str, policy: str
) -> None:
    if launcher != "job" and not ALL:
        pytest.skip("PLAYRUNNER_MATRIX=all trains with every kind of job under each policy")
    name = f"{launcher}-{policy.partition(' ')[0]}"
    room = {"requests.memory": "8Ti", "limits.memory": "8Ti", "pods": "20"}
    with quota(cluster, **(room if policy == "quota with room" else {})):
        if policy != "quota with room" and cluster.has_standards:
            cluster.enforce(policy)
        done = cluster.launch(name, *words(launcher), settings=SHORT)
    assert done.code == 0, done.text
    assert set(cluster.recorded(name)) == {1, 2}
    pods = cluster.api.get("/api/v1/namespaces/default/pods")["items"]
    mine = [pod["metadata"] for pod in pods if pod["metadata"]["labels"].get(LABEL) == name]
    assert set(cluster.security(mine)) == {"baseline"}, "nothing asks for what restricted asks for"


def words(launcher: str) -> tuple[object, ...]:
    """Workers differ from the first pod with the operators only."""
    return ("--launcher", launcher, "--nodes", 1 if launcher == "job" else 2, "--no-gate")


@contextmanager
def quota(cluster: ClusterSite, **hard: str) -> Iterator[None]:
    if not hard:
        yield
        return
    body = {"metadata": {"name": "team"}, "spec": {"hard": hard}}
    assert cluster.api.call("POST", QUOTAS, body)["kind"] == "ResourceQuota"
    try:
        if cluster.api.flavour == "real":  # nothing counts there, and a quota without counts admits
            cluster.api.status(f"{QUOTAS}/team", hard=hard, used=dict.fromkeys(hard, "0"))
        yield
    finally:
        cluster.api.call("DELETE", f"{QUOTAS}/team")


def traces(cluster: ClusterSite) -> tuple[Any, ...]:
    """What a refused launch must not change: the namespace's objects, and the nodes."""
    nodes = [
        (node["metadata"]["name"], node["metadata"].get("labels"), node["spec"])
        for node in cluster.api.get("/api/v1/nodes")["items"]
    ]
    return cluster.things(), nodes


def _serve_kinds(cluster: ClusterSite) -> None:
    """The kinds of all operators: a refusal comes before these act."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for resource in SERVED:
        said = cluster.api.call("POST", definitions, definition(resource))
        assert said["kind"] == "CustomResourceDefinition", said
    for resource in SERVED:
        home = f"/apis/{resource.group}/{resource.version}/{resource.plural}"
        cluster.await_that(lambda home=home: cluster.api.get(home) is not None, home)  # type: ignore[misc]
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
             "metadata": {"name": "default"}, "spec": {}}  # fmt: skip
    assert cluster.api.call("POST", f"/apis/{queue['apiVersion']}/queues", queue)["kind"] == "Queue"


def _looks_only(cluster: ClusterSite, launcher: str, plural: str) -> str:
    """The kubeconfig of a user with the rights of training who may not create this kind of job."""
    group = KINDS[launcher].resource[0].partition("/")[0]
    name = f"looks-{launcher}"
    role, binding, *_ = given("training", "default", f"default:{name}")
    for one in (role, binding):
        one["metadata"]["name"] = name
    binding["roleRef"]["name"] = name
    for rule in role["rules"]:
        if (group, plural) in ((rule["apiGroups"][0], each) for each in rule["resources"]):
            rule["verbs"] = [verb for verb in rule["verbs"] if verb not in ("create", "patch")]
    return str(as_account(cluster.api, cluster.state, name, [role, binding]))
