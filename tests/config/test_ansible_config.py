"""ansible.cfg and ANSIBLE_* variables: which file counts, which value wins, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.config.ansible_config import read_config
from playrunner.errors import BadInput


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def _folder(tmp_path: Path, text: str, name: str = "project") -> Path:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "ansible.cfg").write_text(text)
    return folder


def test_the_file_in_the_working_folder_is_read(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "[defaults]\nforks = 7\nremote_user = deploy\n")
    config = read_config({}, folder)
    assert (config.get("forks"), config.text("remote_user")) == (7, "deploy")
    assert str(config.origin("forks")) == f"{folder / 'ansible.cfg'}:2"


def test_a_variable_wins_over_the_file(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "[defaults]\nforks = 7\n")
    assert read_config({"ANSIBLE_FORKS": "3"}, folder).get("forks") == 3


def test_the_file_that_a_variable_names_wins_over_the_one_here(tmp_path: Path) -> None:
    other = _folder(tmp_path, "[defaults]\nforks = 9\n", "other")
    here = _folder(tmp_path, "[defaults]\nforks = 7\n")
    assert read_config({"ANSIBLE_CONFIG": str(other)}, here).get("forks") == 9
    assert read_config({"ANSIBLE_CONFIG": "../other/ansible.cfg"}, here).get("forks") == 9


def test_the_file_of_the_home_folder_is_the_next(tmp_path: Path) -> None:
    (tmp_path / "home" / ".ansible.cfg").write_text("[defaults]\nforks = 4\n")
    assert read_config({}, tmp_path).get("forks") == 4


def test_a_folder_that_everyone_may_write_is_not_trusted(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "[defaults]\nforks = 7\n")
    folder.chmod(0o777)
    config = read_config({}, folder)
    assert "forks" not in config
    assert "everyone may write" in config.warnings[0]


def test_paths_start_at_the_file_and_those_of_a_variable_at_the_working_folder(
    tmp_path: Path,
) -> None:
    other = _folder(tmp_path, "[defaults]\nroles_path = roles:~/r:/opt/roles\n", "other")
    config = read_config({"ANSIBLE_CONFIG": str(other)}, tmp_path)
    assert config.words("roles_path") == [f"{other}/roles", f"{tmp_path}/home/r", "/opt/roles"]
    config = read_config({"ANSIBLE_ROLES_PATH": "roles"}, tmp_path)
    assert config.words("roles_path") == [f"{tmp_path}/roles"]


def test_several_inventories_have_commas_between_them(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "[defaults]\ninventory = a.ini,{{CWD}}/b.yml\n")
    assert read_config({}, folder).words("inventory") == [f"{folder}/a.ini", f"{folder}/b.yml"]


def test_quotes_and_comments_are_not_part_of_a_value(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "[defaults]\n# x\nremote_user = 'deploy' ; who\n")
    assert read_config({}, folder).text("remote_user") == "deploy"


def test_settings_without_a_meaning_here_are_listed(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "[defaults]\nnocows = 1\nforks = 2\n[colors]\nok = blue\n")
    config = read_config({"ANSIBLE_PIPELINING": "1", "ANSIBLE_FORKS": "2"}, folder)
    assert config.without_effect == ("[defaults] nocows", "[colors] ok", "ANSIBLE_PIPELINING")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("forks = many", "forks takes a whole number, not 'many'"),
        ("host_key_checking = perhaps", "host_key_checking takes yes or no, not 'perhaps'"),
        ("gathering = never", 'gathering cannot be "never"; one of implicit, explicit, smart'),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, line: str, message: str
) -> None:
    folder = _folder(tmp_path, f"[defaults]\n{line}\n")
    with pytest.raises(BadInput) as refused:
        read_config({}, folder)
    assert str(refused.value) == f"{folder / 'ansible.cfg'}:2: {message}"


def test_a_file_of_another_format_is_refused_with_its_line(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "forks = 1\n")
    with pytest.raises(BadInput, match=r"ansible\.cfg:1: not a configuration file"):
        read_config({}, folder)
