"""host.mount_facts."""

from __future__ import annotations

from pathlib import Path

from playrunner.modules.host.mount_facts import MountFacts
from tests.support.host.performing import done, failure

TABLE = """# remark
server:/x /no/data nfs ro,soft 0 0
tmpfs /no/my\\040tmp tmpfs rw
tmpfs /no/data tmpfs rw 0 0
"""


def test_a_table_is_read_and_chosen_from(tmp_path: Path) -> None:
    table = tmp_path / "fstab"
    table.write_text(TABLE)
    facts = done(MountFacts(sources=[str(table)], include_aggregate_mounts=True))["ansible_facts"]
    assert sorted(facts["mount_points"]) == ["/no/data", "/no/my tmp"]
    assert [mount["device"] for mount in facts["aggregate_mounts"]] == ["server:/x"] + ["tmpfs"] * 2
    assert facts["mount_points"]["/no/data"] == {
        "device": "server:/x",
        "mount": "/no/data",
        "fstype": "nfs",
        "options": "ro,soft",
        "dump": 0,
        "passno": 0,
        "uuid": None,
        "ansible_context": {
            "source": str(table),
            "source_data": "server:/x /no/data nfs ro,soft 0 0",
        },
    }
    chosen = done(MountFacts(sources=[str(table)], fstypes=["tmp*"]))["ansible_facts"]
    assert sorted(chosen["mount_points"]) == ["/no/data", "/no/my tmp"]


def test_what_is_mounted_has_a_size() -> None:
    facts = done(MountFacts(sources=["dynamic"], timeout=30))["ansible_facts"]
    assert facts["mount_points"]["/"]["size_total"] > 0


def test_a_timeout_must_be_positive() -> None:
    assert "positive" in str(failure(MountFacts(timeout=-1)))
