"""Every playbook can be looked through first, its images too: `--check` ends well where nothing is
there yet, and makes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import runner
from tests.support.images.image_stage import required

ROOT = Path(__file__).parents[2]
# The inventory that each is made for; the others take the sandbox as it is.
INVENTORIES = {
    "eks-with-storage": "eks-gpu",
    "train-on-eks-cpu": "eks-cpu",
    "train-on-eks-gpu": "eks-gpu",
    "train-on-eks-llama": "eks-llama",
    "train-on-eks-trainium": "eks-trainium",
    "train-on-gke": "gke",
}
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yaml"))
PATIENCE_SECONDS = 300


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, runner.Outcome]]:
    pytest.importorskip("moto", reason="the pretend AWS needs moto")
    required("docker-registry", "buildah")
    state = tmp_path_factory.mktemp("checked")

    def check(name: str) -> runner.Outcome:
        own = ("--inventory", INVENTORIES[name]) if name in INVENTORIES else ()
        words = ("play", f"playbooks/{name}.yaml", *own, "--inventory", "local")
        started = runner.start(
            *words,
            "--check",
            "--tags",
            "all,image",
            "--json",
            state=state,
            KUBECONFIG=str(state / "config"),
        )
        return runner.finish(started, PATIENCE_SECONDS)

    try:
        # One by itself brings up what the others share.
        first = check("train-on-gke")
        with ThreadPoolExecutor(2) as pool:
            rest = [name for name in PLAYBOOKS if name != "train-on-gke"]
            yield {"train-on-gke": first, **dict(zip(rest, pool.map(check, rest), strict=True))}
    finally:
        runner.invoke("sandbox.down", "--yes", state=state)


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_playbook_with_its_images_is_looked_through_where_nothing_is_there_yet(
    checked: dict[str, runner.Outcome], name: str
) -> None:
    done = checked[name]
    assert done.code == 0, done.text
    results = done.data["results"]
    statuses = {each["status"] for each in results}
    assert {"changed", "unknown"} & statuses, "it says what it would do"
    recipes = [each["step"] for each in results if "nccl_image" in each["step"]]
    wants_images = name.startswith("train-on") or name == "nccl-bandwidth"
    assert bool(recipes) == wants_images, recipes
