"""Connection settings: rubbish and hostile text in them is refused in one line that says where it
was written."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.inventory.inventory import read_inventory
from playrunner.ssh.targets import target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar
from tests.support.runner import Outcome, Stage
from tests.support.security.ssh_play import PLAY, play
from tests.support.sshd import NodeSet

LATER = "- {hosts: localhost, gather_facts: false, tasks: [{shell: 'touch MARK'}]}\n" + PLAY


def one_line(done: Outcome, place: str) -> str:
    assert done.code == 5, done.text
    assert len(done.err.splitlines()) == 1 and place in done.err, done.err
    assert "Traceback" not in done.text
    return done.err


BAD = {
    "ansible_port": ["abc", "0", "65536", "-1", "true", "22.5", "[22]", "'22 23'"],
    "ansible_ssh_timeout": ["abc", "-1", ".inf", ".nan", "[]", "1e300"],
    "ansible_host": [
        "'a b'",
        "-oProxyCommand=x",
        '"*\\n ProxyCommand touch MARK"',
        "'$(touch MARK)'",
        "'a;b'",
        "{a: b}",
    ],
    "ansible_user": ["'-lroot'", "'a;b'", '"a\\nb"', "'`id`'"],
    "ansible_connection": ["telnet"],
    "ansible_ssh_common_args": [
        "-D 1080",
        "'-o'",
        "-o ConnectTimeout=abc",
        "-o ServerAliveInterval=x",
        "-J [::1]:abc",
        "-J 'a b'",
        "-J a:0",
        "-o Port=70000",
        "-o HostName=-x",
        "-o StrictHostKeyChecking=maybe",
        '"-o \'UserKnownHostsFile=\\"/tmp/x\'"',
        "'-o \"unclosed'",
        "-o =x",
        "-o ProxyJump=a@b@-c",
    ],
    "via": ["'x y'", "[a]", "u@h:x"],
}


@pytest.mark.parametrize(
    "name, value", [(name, value) for name, values in BAD.items() for value in values]
)
def test_a_bad_value_of_an_inventory_is_refused_with_its_file_and_line(
    tmp_path: Path, name: str, value: str
) -> None:
    done = play(tmp_path, f"all:\n  hosts:\n    web:\n      x: 1\n      {name}: {value}\n")
    said = one_line(done, f"{tmp_path}/hosts.yaml:5: host web: {name}")
    assert not (tmp_path / "MARK").exists() and not Path("MARK").exists(), said


def test_the_line_is_that_of_the_value_that_wins(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/all.yaml").write_text("# ports\nansible_port: abc\n")
    one_line(play(tmp_path, "all: {hosts: {web: {}}}\n"), f"{tmp_path}/group_vars/all.yaml:2: ")
    one_line(
        play(tmp_path, "[web]\na ansible_port=22\nb ansible_port=x\n", name="hosts"),
        f"{tmp_path}/hosts:3: host b",
    )


def test_a_bad_become_method_of_an_inventory_names_its_line(stage: Stage) -> None:
    with stage.inventory.open("a") as file:
        file.write("    ansible_become: true\n    ansible_become_method: runas\n")
    line = len(stage.inventory.read_text().splitlines())
    done = stage.play(PLAY)
    assert done.code == 2 and f"{stage.inventory}:{line}: become_method cannot be" in done.err, (
        done.text
    )


def test_a_host_whose_name_cannot_be_an_address_is_refused_with_its_line(tmp_path: Path) -> None:
    one_line(
        play(tmp_path, "all:\n  hosts:\n    good: {}\n    'a;b': {}\n"),
        f"{tmp_path}/hosts.yaml:4: ",
    )


def test_hosts_of_later_plays_are_checked_before_the_first_step(tmp_path: Path) -> None:
    playbook = LATER.replace("MARK", str(tmp_path / "MARK"))
    one_line(
        play(tmp_path, "all:\n  hosts:\n    web: {ansible_port: abc}\n", playbook),
        "hosts.yaml:3: host web",
    )
    assert not (tmp_path / "MARK").exists()


CONFIGS = {
    "Host *\n  ConnectTimeout abc\n": "ConnectTimeout must be a number of seconds",
    "Host *\n  ServerAliveInterval x\n": "ServerAliveInterval",
    "Host *\n  Port abc\n": "Port must be a port number",
    'Host *\n  UserKnownHostsFile "/tmp/x /tmp/y\n': "UserKnownHostsFile cannot be read",
    "Host *\n  ProxyJump [::1]:abc\n": "the port of the jump host",
    "Host *\n  HostName -x\n": "HostName must be an address",
    "Host *\n  CanonicalizeHostname yes\n  CanonicalizeMaxDots x\n": "cannot be applied",
    "Host *\n  CanonicalizeHostname yes\n": "cannot be applied",
}


@pytest.mark.parametrize("text", CONFIGS)
def test_a_bad_value_of_an_ssh_configuration_is_refused_with_its_file(
    tmp_path: Path, text: str
) -> None:
    config = tmp_path / "config"
    config.write_text(text)
    done = play(tmp_path, f"all: {{hosts: {{web: {{ansible_ssh_common_args: '-F {config}'}}}}}}\n")
    assert CONFIGS[text] in one_line(done, f"{config}: ")


@pytest.mark.parametrize(
    "text, line", [("Host *\n  Port 22\nrubbish\n", 3), ("Host 'a\n", 0), ("\n= x\n", 2)]
)
def test_an_ssh_configuration_that_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    config = tmp_path / "config"
    config.write_text(text)
    done = play(tmp_path, f"all: {{hosts: {{web: {{ansible_ssh_common_args: '-F {config}'}}}}}}\n")
    one_line(done, f"{config}:{line}: " if line else f"{config}: ")


def test_a_configuration_that_includes_itself_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Include {config}\n")
    done = play(tmp_path, f"all: {{hosts: {{web: {{ansible_ssh_common_args: '-F {config}'}}}}}}\n")
    assert "include itself" in one_line(done, f"{config}:1: ")


HOSTILE = [
    "*\n ProxyCommand touch {mark}",
    "x;touch {mark}",
    "$(touch {mark})",
    "`touch {mark}`",
    "x\ttouch {mark}",
    "-oX",
    "x' ; touch {mark} ; '",
    "x|touch {mark}",
    "x\x00y",
    "x\x1b[2J",
    "x\u2028y",
]


@pytest.mark.parametrize(
    "config",
    [
        "Host *\n  ProxyCommand nc %h %p\n",
        'Match exec "echo %h"\n  User x\n',
        "Host *\n  ProxyJump %h\n",
    ],
)
def test_an_address_that_a_step_makes_runs_nothing(stage: Stage, config: str) -> None:
    """All in one run, each address with a host and a mark of its own."""
    file = stage.folder / "config"
    file.write_text(config)
    marks = {f"victim{number}": stage.folder / f"mark{number}" for number in range(len(HOSTILE))}
    steps = [
        {
            "name": name,
            "add_host": {
                "name": name,
                "groups": "victims",
                "ansible_host": address.format(mark=mark),
                "ansible_ssh_common_args": f"-F {file}",
            },
            "ignore_errors": True,
        }
        for (name, mark), address in zip(marks.items(), HOSTILE, strict=True)
    ]
    tried = [{"name": "tried", "command": "true"}]
    done = stage.play(
        json.dumps(
            [
                {"hosts": "node1", "gather_facts": False, "tasks": steps},
                {"hosts": "victims", "gather_facts": False, "tasks": tried},
            ]
        )
    )
    assert done.code in (2, 4), done.text
    assert not [mark for mark in marks.values() if mark.exists()], done.text
    assert "Traceback" not in done.text and "defect" not in done.text
    made = [name for name in marks if done.result("node1", name)["status"] != "failed"]
    assert made, done.text
    ended = {name: done.counts(name) for name in made}
    assert all(counts["unreachable"] or counts["failed"] for counts in ended.values()), done.text


def test_the_command_of_a_configuration_gets_the_inventorys_port_and_user(
    tmp_path: Path, nodes: NodeSet
) -> None:
    node, config = nodes["node2"], tmp_path / "config"
    config.write_text(f"Host *\n  ProxyCommand echo %r %h %p %n %% > {tmp_path}/said; exec false\n")
    done = play(
        tmp_path,
        f"all: {{hosts: {{box: {{ansible_host: {node.address}, ansible_port: 4711, ansible_user:"
        f" me, ansible_ssh_common_args: '-F {config}'}}}}}}\n",
    )
    assert done.code == 4, done.text
    assert (tmp_path / "said").read_text() == f"me {node.address} 4711 {node.address} %\n"


def test_no_connection_setting_can_end_in_another_error_than_ours(tmp_path: Path) -> None:
    """Mutated inventories and ssh configurations: a target, or one line."""
    chance = random.Random(16)
    alphabet = "\"'`$;|&<>(){}[]%@:=,-~#*?! \t\x00\x1b\u00e9\u2028A9"
    names = [
        *BAD,
        "ansible_ssh_private_key_file",
        "ansible_timeout",
        "ansible_ssh_extra_args",
        "ansible_password",
    ]
    seeds = [
        "22",
        "10.0.0.1",
        "-J u@h:22,x -o Port=22",
        "-o ProxyCommand='nc %h %p' -F none",
        "[::1]:22",
        "~x/y",
        "10s",
    ]
    config_seeds = [
        "Host a b !c",
        "Match host a !user b",
        "Include ~/x/*",
        "Port 22",
        "ConnectTimeout 1m",
        "ProxyJump a,b:2",
        'UserKnownHostsFile "a b" ~/c',
        "Match all",
        "HostName %h.x",
        "CanonicalizeHostname no",
    ]

    def mutated(text: str) -> str:
        letters = list(text)
        for _ in range(chance.randint(0, 4)):
            letters.insert(chance.randrange(len(letters) + 1), chance.choice(alphabet))
        return "".join(letters)

    for number in range(1500):
        config = tmp_path / f"config-{number}"
        config.write_text(
            "\n".join(mutated(chance.choice(config_seeds)) for _ in range(4)), errors="replace"
        )
        inventory = read_inventory(["web,"])
        values = {
            chance.choice(names): chance.choice(
                [mutated(chance.choice(seeds)), 7, 1.5, True, [], {}, None, 10**30]
            )
            for _ in range(3)
        }
        values.setdefault("ansible_ssh_common_args", f"-F {config}")
        inventory.add_host("web", [], values)
        scope = Scope(RunVariables(inventory, default_templar, {}, {}), "web")
        try:
            target_of(scope)
        except PlayrunnerError as error:
            assert (
                "\n" not in str(error) and "\x1b" not in str(error) and str(error).isprintable()
            ), (number, str(error))
