"""Names that come from a host or an archive decide nothing about where files are written outside
their folder."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from playrunner.text import atomic_write
from playrunner.text.safe_path import Outside, file_name, inside
from playrunner.training.runs.record import Record
from tests.support.runner import Stage
from tests.support.sshd import NodeSet


def fetching(stage: Stage, src: str, dest: object, *more: str) -> Any:
    words = ", ".join([f"src: {json.dumps(src)}", f"dest: {json.dumps(str(dest))}", *more])
    return stage.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{name: get, fetch: {{{words}}}}}
""")


@pytest.fixture
def secret(stage: Stage, nodes: NodeSet) -> Path:
    """A file on the host, whose content must not land anywhere else than in dest."""
    path = nodes["node1"].scratch / stage.folder.name / "authorized_keys"
    path.write_text("hostile\n")
    return path


@pytest.mark.parametrize(
    "climb",
    [
        "/../../../../../../../../../../../../../../..",
        "/x/../../../../../../../../../../../../..",
        "//..//.",
        "/./../.",
    ],
)
def test_a_path_with_dots_from_a_host_stays_below_dest(
    stage: Stage, secret: Path, climb: str
) -> None:
    """What a hostile `find` would answer: the same file by a path that climbs out of dest."""
    dest = stage.folder / "a/b/dest"
    dest.mkdir(parents=True)
    outside = Path(f"{dest}/node1{climb}{secret}.controller")
    source = climb.replace("/x", "/tmp") + str(secret)
    done = fetching(stage, source, dest)
    assert done.code == 0, done.text
    assert not outside.exists()
    written = [path for path in stage.folder.rglob("authorized_keys") if path != secret]
    assert (
        written == [Path(f"{dest}/node1{os.path.normpath(source)}")]
        and written[0].read_text() == "hostile\n"
    )
    assert done.result("node1", "get")["values"]["dest"] == str(written[0])


def test_a_climbing_path_never_writes_the_controllers_own_file(
    stage: Stage, nodes: NodeSet
) -> None:
    """Node and controller share a disk here: the host's file is /A/../B/key, and
    dest/node1/A/../../../B/key is ours."""
    folder = nodes["node1"].scratch / stage.folder.name
    (folder / "in/in").mkdir(parents=True)
    victim = stage.folder / "authorized_keys"
    (folder / "authorized_keys").write_text("hostile\n")
    up = "/".join([".."] * (len(folder.parts) + 1))
    (stage.folder / "dest").mkdir()
    done = fetching(
        stage, f"{folder}/in/in/../../{up}{folder}/authorized_keys", stage.folder / "dest"
    )
    assert done.code == 0 and not victim.exists(), done.text


@pytest.mark.parametrize("flat", ["flat: true", "flat: false"])
def test_a_link_in_dest_that_leads_out_is_refused(stage: Stage, secret: Path, flat: str) -> None:
    dest, outside = stage.folder / "dest", stage.folder / "outside"
    outside.mkdir()
    (outside / "authorized_keys").write_text("mine\n")
    if "true" in flat:
        dest.mkdir()
        (dest / "authorized_keys").symlink_to(outside / "authorized_keys")
        done = fetching(stage, str(secret), f"{dest}/", flat)
        assert done.code == 0 and (dest / "authorized_keys").read_text() == "hostile\n", done.text
        assert not (dest / "authorized_keys").is_symlink()
    else:
        (dest / "node1").mkdir(parents=True)
        top = secret.parts[1]
        (dest / "node1" / top).symlink_to(outside)
        done = fetching(stage, str(secret), dest, flat)
        assert done.code == 2 and "through a link" in done.text, done.text
    assert (outside / "authorized_keys").read_text() == "mine\n" and len(
        list(outside.rglob("*"))
    ) == 1


def test_a_dest_that_is_a_link_itself_is_the_users_choice(stage: Stage, secret: Path) -> None:
    (stage.folder / "real").mkdir()
    (stage.folder / "dest").symlink_to("real")
    assert fetching(stage, str(secret), f"{stage.folder}/dest/", "flat: true").code == 0
    assert (stage.folder / "real/authorized_keys").read_text() == "hostile\n"


def test_a_flat_fetch_of_dots_is_refused(stage: Stage, secret: Path) -> None:
    done = fetching(stage, "/..", f"{stage.folder}/", "flat: true")
    assert done.code == 2 and "names no file" in done.text


def test_a_folder_in_the_way_is_said_in_one_line(stage: Stage, secret: Path) -> None:
    (stage.folder / "dest/authorized_keys/full").mkdir(parents=True)
    done = fetching(stage, str(secret), f"{stage.folder}/dest/", "flat: true")
    assert done.code == 2 and "cannot be written" in done.text and "Traceback" not in done.text


@pytest.mark.parametrize(
    "name",
    ["..", ".", "../../x", "/etc/x", "a/../../b", ".hidden", "a\nb", "a\0b", "%2E", "", "x" * 300],
)
def test_a_host_of_any_name_has_files_of_its_own(
    stage: Stage, secret: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = file_name(name)
    assert (
        "/" not in made
        and made not in (".", "..", "")
        and not made.startswith(".")
        and len(made.encode()) <= 255
    )
    assert made.isprintable()
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(stage.folder / "records"))
    record = Record(name)
    record.begin({})
    record.write_log(name, "text\n")
    record.close()
    runs = stage.folder / "records/training/runs"
    assert [path.parent.name for path in runs.glob("*/run.json")] == [made]
    assert [path.name for path in runs.glob("*/hosts/*")] == [f"{made}.log"]


def test_names_that_differ_never_share_a_file() -> None:
    names = [
        "a/b",
        "a_b",
        "a%2Fb",
        "a\\b",
        ".a",
        "%2Ea",
        "a",
        "A" * 250,
        "A" * 251,
        "\udc80",
        "?",
        "é",
    ]
    assert len({file_name(name) for name in names}) == len(names)


def test_a_host_with_a_hostile_name_is_fetched_from_and_recorded_inside(
    stage: Stage, nodes: NodeSet, secret: Path
) -> None:
    node, dest = nodes["node1"], stage.folder / "dest"
    variables = {
        "ansible_host": node.address,
        "ansible_port": node.port,
        "ansible_user": node.user,
        "ansible_ssh_private_key_file": str(node.key_file),
        "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={node.known_hosts_file}",
    }
    script = stage.folder / "dynamic"
    answer = {"all": {"hosts": ["../../evil"]}, "_meta": {"hostvars": {"../../evil": variables}}}
    script.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    script.chmod(0o755)
    stage.inventory = script
    done = stage.play(
        f"- {{hosts: all, gather_facts: false, tasks: [{{fetch: {{src: {secret}, dest:"
        f" {dest}}}}}]}}\n"
    )
    assert done.code == 0, done.text
    assert [path.name for path in dest.iterdir()] == ["%2E.%2F..%2Fevil"]
    assert not [
        path
        for path in stage.folder.rglob("*evil*")
        if path.name not in ("%2E.%2F..%2Fevil", "%2E.%2F..%2Fevil.log")
    ]


def test_a_path_is_followed_before_it_is_judged(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in-beside").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "in-beside")
    with pytest.raises(Outside):
        inside(tmp_path / "in", "link/x")
    assert inside(tmp_path / "in", "../../link2/x") == tmp_path / "in/link2/x"


def test_a_file_is_never_written_through_a_pipe_or_a_link(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    for name in ("pipe", "link"):
        atomic_write.write_bytes(tmp_path / name, b"new")
        assert (
            stat.S_ISREG((tmp_path / name).lstat().st_mode)
            and (tmp_path / name).read_bytes() == b"new"
        )
    assert (tmp_path / "mine").read_text() == "mine" and sorted(os.listdir(tmp_path)) == [
        "link",
        "mine",
        "pipe",
    ]
