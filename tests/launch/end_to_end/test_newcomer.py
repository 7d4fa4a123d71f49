"""The first launch on a cluster, as a newcomer types it: the default inventory, nothing
installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.launch.site import Site

pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')


def test_a_first_launch_installs_its_operator_and_finds_a_claim_that_all_pods_see(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    words = ("train.launch", "--profile", "gpt2-micro-smoke", "--launcher", "pytorchjob")
    try:
        refused = site.invoke(*words)
        assert refused.code != 0
        assert "run invoke kubeflow.create first, or give --yes" in refused.text, refused.text
        begun = site.invoke(*words, "--yes", "--detach")
        assert begun.code == 0, begun.text
        assert "installed kubeflow (" in begun.text
        seen = site.invoke("train.status", "--name", "gpt2-micro-smoke", "--json").data
        assert seen["state"] in ("pending", "running"), seen
        stopped = site.invoke("train.stop", "--name", "gpt2-micro-smoke")
        assert stopped.code == 0, stopped.text
        again = site.invoke("sandbox.up", "--kube")
        assert again.code == 0, "a claim that is there is left as it is: " + again.text
    finally:
        site.invoke("sandbox.down")
