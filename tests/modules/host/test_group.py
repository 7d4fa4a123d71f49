"""host.group, with a real group of a name nobody else has."""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from playrunner.modules.host.group import Group
from tests.support.host.performing import done, undone

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("groupadd", path="/usr/sbin:/sbin:/usr/bin"),
    reason="making groups needs root and the shadow tools",
)


@pytest.fixture
def name() -> Iterator[str]:
    name = f"prg{os.getpid()}"
    yield name
    subprocess.run(["groupdel", name], capture_output=True)


def test_a_group_comes_changes_and_goes(name: str) -> None:
    assert done(Group(name=name), check=True)["changed"]
    with pytest.raises(KeyError):
        grp.getgrnam(name)
    result = done(Group(name=name))
    assert (result["changed"], result["name"], result["gid"]) == (
        True,
        name,
        grp.getgrnam(name).gr_gid,
    )
    assert not done(Group(name=name))["changed"]
    assert done(Group(name=name, gid=48765))["gid"] == 48765
    assert not done(Group(name=name, gid=48765, system=True))["changed"]
    assert done(Group(name=name, state="absent"))["changed"]
    assert not done(Group(name=name, state="absent"))["changed"]


def test_a_group_that_was_made_can_be_taken_back(name: str) -> None:
    undone(Group(name=name), done(Group(name=name))["diff"]["before"])
    with pytest.raises(KeyError):
        grp.getgrnam(name)
