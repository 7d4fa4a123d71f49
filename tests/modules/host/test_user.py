"""host.user, with a real account of a name nobody else has."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.hostside.perform import perform
from playrunner.modules.host._accounts import shadow_columns
from playrunner.modules.host.user import User
from tests.support.host.performing import context, done, failure

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin"),
    reason="making accounts needs root and the shadow tools",
)
HASH = "$6$saltsalt$" + "a" * 86
OTHER_HASH = "$6$saltsalt$" + "b" * 86


@pytest.fixture
def name(tmp_path: Path) -> Iterator[str]:
    name = f"pru{os.getpid()}"
    yield name
    subprocess.run(["userdel", "-r", name], capture_output=True)
    subprocess.run(["groupdel", name], capture_output=True)


def test_an_account_comes_and_stays_as_it_is(name: str, tmp_path: Path) -> None:
    step = User(
        name=name,
        home=str(tmp_path / "home"),
        shell="/bin/sh",
        comment="A B",
        groups=["games", "mail"],
    )
    assert done(step, check=True)["changed"]
    with pytest.raises(KeyError):
        pwd.getpwnam(name)
    result = done(step)
    assert (result["changed"], result["home"], result["shell"], result["groups"]) == (
        True,
        str(tmp_path / "home"),
        "/bin/sh",
        "games,mail",
    )
    assert (tmp_path / "home").is_dir() and pwd.getpwnam(name).pw_gecos == "A B"
    assert not done(step)["changed"]


def test_what_differs_is_mended(name: str, tmp_path: Path) -> None:
    done(User(name=name, create_home=False, groups=["games"]))
    assert done(User(name=name, create_home=False, groups=["mail"], append=True))["diff"][
        "after"
    ] == {"groups": ["games", "mail"]}
    assert not done(User(name=name, create_home=False, groups=["mail"], append=True))["changed"]
    assert done(User(name=name, create_home=False, groups=[]))["changed"]
    assert done(User(name=name, create_home=False, shell="/bin/sh", uid=48766))["uid"] == 48766
    assert "nosuchgroup does not exist" in str(
        failure(User(name=name, create_home=False, group="nosuchgroup"))
    )


def test_a_password_is_set_and_never_shown(name: str) -> None:
    result = done(User(name=name, create_home=False, password=HASH))
    assert (shadow_columns(name) or ["", ""])[1] == HASH
    assert HASH not in str(result) and result["password"] == "NOT_LOGGING_PASSWORD"
    assert not done(User(name=name, create_home=False, password=HASH))["changed"]
    assert not done(
        User(name=name, create_home=False, password=OTHER_HASH, update_password="on_create")
    )["changed"]
    assert (
        done(User(name=name, create_home=False, password=OTHER_HASH))["changed"]
        and (shadow_columns(name) or ["", ""])[1] == OTHER_HASH
    )


def test_a_password_that_is_not_hashed_gets_a_warning(name: str) -> None:
    ctx = context(check=True)
    perform(User(name=name, password="plain text"), ctx)
    assert "not to have been hashed" in ctx.warnings[0]


def test_an_account_goes_with_its_home(name: str, tmp_path: Path) -> None:
    done(User(name=name, home=str(tmp_path / "home")))
    assert done(User(name=name, state="absent", remove=True))["changed"]
    assert not (tmp_path / "home").exists()
    assert not done(User(name=name, state="absent", remove=True))["changed"]


def test_a_group_of_the_same_name_is_no_obstacle(name: str) -> None:
    subprocess.run(["groupadd", name], check=True)
    assert done(User(name=name, create_home=False, system=True))["changed"]


def test_expiry_ages_and_lock_are_set_once(name: str) -> None:
    step = User(
        name=name,
        create_home=False,
        password=HASH,
        password_lock=True,
        expires=1893456000,
        password_expire_max=90,
        password_expire_min=1,
        password_expire_warn=7,
        password_expire_account_disable=3,
    )
    assert done(step)["changed"] and not done(step)["changed"]
    columns = shadow_columns(name) or []
    assert columns[1] == f"!{HASH}" and columns[3:8] == ["1", "90", "7", "3", "21915"]
    assert done(User(name=name, expires=-1, password_lock=False))["changed"]
    columns = shadow_columns(name) or []
    assert columns[1] == HASH and columns[7] == ""


def test_a_key_is_made_once_and_belongs_to_the_account(name: str, tmp_path: Path) -> None:
    step = User(
        name=name,
        home=str(tmp_path / "home"),
        generate_ssh_key=True,
        ssh_key_type="ed25519",
        ssh_key_passphrase="open sesame",
        ssh_key_comment="a remark",
    )
    first = done(step)
    key = tmp_path / "home" / ".ssh" / "id_ed25519"
    assert first["ssh_key_file"] == str(key) and first["ssh_public_key"].endswith("a remark")
    assert key.stat().st_uid == pwd.getpwnam(name).pw_uid and "SHA256:" in first["ssh_fingerprint"]
    assert "sesame" not in str(first) and not done(step)["changed"]
    opened = ["ssh-keygen", "-y", "-P", "open sesame", "-f", str(key)]
    assert subprocess.run(opened, capture_output=True, check=False).returncode == 0


def test_a_public_key_that_is_a_link_stays_unless_forced(name: str, tmp_path: Path) -> None:
    home, flag = tmp_path / "home", tmp_path / "flag"
    public = home / ".ssh" / "id_ed25519.pub"
    public.parent.mkdir(parents=True)
    flag.write_text("not a key")
    public.symlink_to(flag)
    step = User(name=name, home=str(home), generate_ssh_key=True, ssh_key_type="ed25519")
    ctx = context()
    perform(step, ctx)
    assert public.is_symlink() and not public.with_suffix("").exists()
    assert "force: true" in ctx.warnings[0] and not done(step)["changed"]
    step = User(
        name=name, home=str(home), generate_ssh_key=True, ssh_key_type="ed25519", force=True
    )
    assert done(step)["changed"] and not public.is_symlink() and flag.read_text() == "not a key"


def test_a_home_that_is_missing_is_made_for_an_account_that_is_there(
    name: str, tmp_path: Path
) -> None:
    home, skeleton = tmp_path / "home", tmp_path / "skeleton"
    (skeleton / "below").mkdir(parents=True)
    (skeleton / "below" / "file").write_text("greeting")
    step = User(name=name, home=str(home), skeleton=str(skeleton))
    done(step)
    shutil.rmtree(home)
    assert done(step, check=True)["changed"] and not home.exists()
    assert done(step)["changed"] and not done(step)["changed"]
    file = home / "below" / "file"
    assert file.read_text() == "greeting" and file.owner() == name and home.owner() == name
    shutil.rmtree(home)
    assert not done(User(name=name, create_home=False))["changed"] and not home.exists()
