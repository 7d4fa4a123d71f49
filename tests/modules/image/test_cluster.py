"""Building in the cluster: the Job is what the API server takes, its image is waited for, and
nothing of it stays."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.images import recipe
from playrunner.images.cluster_build import objects
from playrunner.images.context import sources_of
from playrunner.images.logins import Login
from playrunner.images.platform import ARCHITECTURE, PLATFORM
from playrunner.images.settings import settings_of
from playrunner.sandbox.kube.process import process
from tests.support.images.image_stage import ImageStage
from tests.support.kube.module_stage import Api
from tests.support.until import until

JOBS = "/apis/batch/v1/namespaces/default/jobs"
LONG_SECONDS = 120
# What a Job has to be before it has ended.
BEFORE = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    root = tmp_path_factory.mktemp("kube")
    yield Api(Path(process.up(root, pretend=True).kubeconfig))
    process.down(root)


class Cluster(threading.Thread):
    """Does what a cluster does with the Job: builds what its ConfigMap holds, pushes it, and says
    how it ended."""

    def __init__(self, api: Api, stage: ImageStage, ending: str) -> None:
        super().__init__(daemon=True)
        self.api, self.stage, self.ending, self.job = api, stage, ending, dict[str, Any]()

    def run(self) -> None:
        self.job = until(
            lambda: next(iter(self.api.call("GET", JOBS).get("items", [])), {}),
            what="the build's Job",
            seconds=LONG_SECONDS,
        )
        name = self.job["metadata"]["name"]
        if self.ending == "Complete":
            self._build(name)
        moment = "2026-01-01T00:00:00Z"
        done = {"completionTime": moment} if self.ending == "Complete" else {}
        self.api.status(
            f"{JOBS}/{name}",
            startTime=moment,
            conditions=[
                {
                    "type": kind,
                    "status": "True",
                    "reason": "Ended",
                    "message": "it has ended",
                    "lastTransitionTime": moment,
                    "lastProbeTime": moment,
                }
                for kind in (BEFORE[self.ending], self.ending)
            ],
            **done,
        )

    def _build(self, name: str) -> None:
        held = self.api.call("GET", f"/api/v1/namespaces/default/configmaps/{name}")["binaryData"][
            "context.tar.gz"
        ]
        place = self.stage.folder / "in-cluster"
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(held))) as archive:
            archive.extractall(place, filter="data")
        words = self.job["spec"]["template"]["spec"]["containers"][0]["args"]
        labels = [word.removeprefix("label:") for word in words if word.startswith("label:")]
        reference = (
            next(word for word in words if word.startswith("type=image"))
            .partition("name=")[2]
            .partition(",")[0]
        )
        self.stage.buildah(
            "build", "-q", *(f"--label={label}" for label in labels), "-t", reference, str(place)
        )
        self.stage.buildah(
            "push",
            "-q",
            "--tls-verify=false",
            "--authfile",
            self.stage.registry.auth_file,
            reference,
        )
        self.stage.buildah("rmi", reference)


@pytest.fixture
def in_cluster(stage: ImageStage, api: Api) -> dict[str, Any]:
    return {
        "image_builder": "cluster",
        "image_cluster_image": "example.org/buildkit:v1",
        "kubeconfig": str(api.kubeconfig),
    }


def test_an_image_is_built_in_the_cluster_once_and_leaves_nothing(
    stage: ImageStage, api: Api, in_cluster: dict[str, Any]
) -> None:
    cluster = Cluster(api, stage, "Complete")
    cluster.start()

    began = time.monotonic()
    first = stage.play(stage.steps(), **in_cluster)
    assert time.monotonic() - began < LONG_SECONDS, "no builder is asked for what it does not keep"
    cluster.join(LONG_SECONDS)
    again = stage.play(stage.steps(), **in_cluster)

    assert (first.code, first.changed) == (0, ["built"]), first.text
    assert (again.code, again.changed) == (0, []), again.text
    assert (
        stage.skopeo(first.values["pushed"]["reference"])["Digest"]
        == first.values["pushed"]["digest"]
    )
    for path in (
        JOBS,
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/default/configmaps",
    ):
        names = [one["metadata"]["name"] for one in api.call("GET", path)["items"]]
        assert not [name for name in names if name.startswith("build-")], path


def test_a_job_that_fails_says_so_and_goes(
    stage: ImageStage, api: Api, in_cluster: dict[str, Any]
) -> None:
    cluster = Cluster(api, stage, "Failed")
    cluster.start()

    played = stage.play(stage.steps(), **in_cluster)
    cluster.join(LONG_SECONDS)

    assert played.code == 2 and "has failed: it has ended" in played.messages, played.text
    assert api.call("GET", JOBS)["items"] == []


def _objects(tmp_path: Path, **settings: str) -> list[dict[str, Any]]:
    (tmp_path / "main.py").write_text("print(1)\n")
    made = recipe.make(
        "cpu",
        "r.example.org/x",
        "ARG A\nFROM scratch\nCOPY code /code\n",
        sources_of({"code": str(tmp_path)}),
        {"A": "x y"},
        "demo",
    )
    given = {"image_cluster_image": "example.org/builder:v1", **settings}
    return objects(
        made, settings_of(given.get), {"r.example.org": Login("me", "hidden")}, "default"
    )


@pytest.mark.parametrize("builder", ["buildkit", "kaniko"])
def test_the_login_is_in_the_secret_alone(tmp_path: Path, builder: str) -> None:
    held, secret, job = _objects(tmp_path, image_cluster_builder=builder)

    known = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))
    assert known["auths"] == {"r.example.org": {"auth": Login("me", "hidden").coded}}
    assert "hidden" not in json.dumps([held, job]) and Login(
        "me", "hidden"
    ).coded not in json.dumps([held, job])


@pytest.mark.parametrize(
    ("builder", "argument"), [("buildkit", "build-arg:A=x y"), ("kaniko", "--build-arg=A=x y")]
)
def test_arguments_and_platform_reach_the_builder_as_they_are(
    tmp_path: Path, builder: str, argument: str
) -> None:
    job = _objects(tmp_path, image_cluster_builder=builder)[2]
    container = job["spec"]["template"]["spec"]["containers"][0]

    assert argument in container["args"]
    assert [word for word in container["args"] if word.endswith(PLATFORM)]
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/arch": ARCHITECTURE}


def test_what_a_cluster_cannot_hold_is_refused_with_another_way(tmp_path: Path) -> None:
    import random

    (tmp_path / "large.bin").write_bytes(random.Random(3).randbytes(1_500_000))

    with pytest.raises(Failed, match="image_builder_host"):
        _objects(tmp_path)
