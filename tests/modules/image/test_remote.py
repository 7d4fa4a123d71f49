"""Building on another machine over SSH: the image is there and in the registry, the login is not
left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.images.image_stage import ImageStage

if TYPE_CHECKING:
    from tests.support.sshd import NodeSet


@pytest.fixture
def elsewhere(
    stage: ImageStage,
    nodes: NodeSet,
    storage_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> ImageStage:
    """A stage whose builder is a node; this machine's own environment does not reach it."""
    for name in storage_environment:
        monkeypatch.delenv(name)
    node = nodes[0]
    stage.hosts = {
        node.name: {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "ansible_user": node.user,
            "ansible_ssh_private_key_file": str(node.key_file),
            "ansible_ssh_common_args": (
                f"-o UserKnownHostsFile={node.known_hosts_file} -o StrictHostKeyChecking=yes"
            ),
        }
    }
    scratch = node.scratch / stage.folder.name
    scratch.mkdir()
    stage.variables |= {
        "image_builder_host": node.name,
        "image_builder_environment": {**storage_environment, "TMPDIR": str(scratch)},
    }
    return stage


def test_an_image_is_built_and_pushed_from_another_machine(elsewhere: ImageStage) -> None:
    logins = set(Path("/tmp").glob("tmp.*/config.json"))

    first, again = elsewhere.play(elsewhere.steps()), elsewhere.play(elsewhere.steps())

    assert (first.code, first.changed) == (0, ["built", "pushed"]), first.text
    assert (again.code, again.changed) == (0, []), again.text
    seen = elsewhere.skopeo(first.values["pushed"]["reference"])
    assert seen["Digest"] == first.values["pushed"]["digest"]
    assert set(Path("/tmp").glob("tmp.*/config.json")) <= logins


def test_a_host_that_is_not_in_the_inventory_is_named(elsewhere: ImageStage) -> None:
    played = elsewhere.play(elsewhere.steps(), image_builder_host="nobody")

    assert played.code != 0
    assert (
        'image_builder_host names the host "nobody", which is not in the inventory'
        in played.messages
    )
