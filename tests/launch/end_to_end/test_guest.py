"""A user with rights in one namespace only trains there; what is missing is told in one line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playrunner.training.kube.rights_command import given
from tests.support.kube.service_account import as_account, no_rights
from tests.support.launch.cluster import ClusterSite, cluster_site

SHORT = (
    "train.steps=3",
    "train.log.every=1",
    "train.schedule.warmup_steps=1",
    "train.evaluate.batches=1",
    "train.device=cpu",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("guest")) as made:
        yield made


def test_a_user_with_rights_in_one_namespace_trains_there(cluster: ClusterSite) -> None:
    role, binding, *_ = given("training", "default", "default:guest")
    guest = as_account(cluster.api, cluster.state, "guest", [role, binding])
    cluster.say(kubeconfig=str(guest))
    done = cluster.launch("guests", "--nodes", 1, settings=SHORT)
    assert done.code == 0, done.text
    assert set(cluster.recorded("guests")) == {1, 2, 3}
    told = cluster.ask("train.why", "--name", "guests")
    assert told.code == 0 and "Traceback" not in told.text, told.text
    assert cluster.ask("train.status", "--name", "guests").code == 0
    assert cluster.ask("train.stop", "--name", "guests").code == 0
    assert not any("guests" in thing for thing in cluster.things())


def test_a_user_without_rights_is_told_the_missing_one_in_one_line(cluster: ClusterSite) -> None:
    nobody = as_account(cluster.api, cluster.state, "nobody", no_rights("nobody"))
    cluster.say(kubeconfig=str(nobody))
    refused = cluster.launch("nobodys", "--nodes", 1, settings=SHORT)
    cluster.say()
    assert refused.code != 0 and "Traceback" not in refused.text, refused.text
    assert 'cannot get resource "persistentvolumeclaims"' in refused.err, refused.text
    assert "kube.rights --for training" in refused.err
