"""A kubeconfig that is not one is bad input: file, line and what to do, and never a traceback."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.kube.client.config import Access, KubeSettings, access
from playrunner.kube.client.transport import Transport
from playrunner.kube.kubeconfig import file as kubeconfig_file

GOOD = """\
apiVersion: v1
kind: Config
current-context: here
clusters:
- name: c
  cluster:
    server: https://127.0.0.1:6443
contexts:
- name: here
  context:
    cluster: c
    user: u
users:
- name: u
  user:
    token: abc
"""


def opened(folder: Path, text: str) -> Access:
    """As far as it goes before a server is asked: the file, its certificates, the authorization."""
    file = folder / "kubeconfig"
    file.write_bytes(text.encode(errors="surrogateescape"))
    found = access(KubeSettings(str(file)))
    Transport(found)
    found.credentials.authorization()
    return found


def test_the_good_one_is_taken(tmp_path: Path) -> None:
    found = opened(tmp_path, GOOD)
    assert (
        found.server == "https://127.0.0.1:6443"
        and found.credentials.authorization() == "Bearer abc"
    )


@pytest.mark.parametrize(
    ("was", "becomes", "line", "complaint"),
    [
        (
            "  cluster:\n    server: https://127.0.0.1:6443",
            "  cluster: hello",
            6,
            "clusters[0].cluster is not a mapping",
        ),
        ("- name: c\n", "- hello\n- name: c\n", 4, "clusters[0] is not a mapping"),
        ("- name: c\n", "- named: c\n", 5, "clusters[0] has no name"),
        ("https://127.0.0.1:6443", "[a, b]", 7, "clusters[0].cluster.server is not text"),
        (
            "https://127.0.0.1:6443",
            "https://127.0.0.1:https",
            7,
            'server "https://127.0.0.1:https" is no address',
        ),
        ("https://127.0.0.1:6443", "https://127.0.0.1:99999", 7, "is no address"),
        ("https://127.0.0.1:6443", "https://[::1", 7, "is no address"),
        ("https://127.0.0.1:6443", "https://", 7, "is no address"),
        ("https://127.0.0.1:6443", "ftp://a", 7, "is no address"),
        ("https://127.0.0.1:6443", "127.0.0.1:6443", 7, "is no address"),
        ("https://127.0.0.1:6443", f"https://{'a' * 70}.example", 7, "is no address"),
        ("https://127.0.0.1:6443", "https://a b", 7, "is no address"),
        ("https://127.0.0.1:6443", '"https://a\\r\\nHost: b"', 7, "is no address"),
        ("6443", "6443\n    proxy-url: 'http://a:b'", 8, "proxy-url"),
        ("6443", "6443\n    tls-server-name: a..b", 8, "tls-server-name"),
        ("6443", "6443\n    certificate-authority-data: '*'", 8, "certificate"),
        ("6443", "6443\n    certificate-authority: {}", 8, "certificate-authority is not text"),
        (
            "6443",
            '6443\n    certificate-authority: "a\\0b"',
            8,
            "certificate-authority cannot be read",
        ),
        (
            "6443",
            "6443\n    certificate-authority: ~nobody-of-this-name/ca",
            8,
            "certificate-authority cannot be read",
        ),
        ("6443", "6443\n    insecure-skip-tls-verify: maybe", 8, "is not true or false"),
        ("token: abc", 'token: "a\\nX: b"', 16, "token holds characters that no token has"),
        ("token: abc", "token: ä", 16, "token holds characters that no token has"),
        ("token: abc", "exec: hello", 16, "users[0].user.exec is not a mapping"),
        ("token: abc", "exec: {args: [a]}", 16, "has no command"),
        ("token: abc", "exec: {command: a, env: 5}", 16, "users[0].user.exec.env is not a list"),
        (
            "token: abc",
            "exec: {command: a, env: [5]}",
            16,
            "users[0].user.exec.env[0] is not a mapping",
        ),
        ("token: abc", "exec: {command: a, env: [{name: b}]}", 16, "has no value"),
        ("token: abc", "exec: {command: a, args: b}", 16, "args is not a list"),
        ("token: abc", 'exec: {command: "a\\0b"}', 0, "cannot be run"),
        (
            "token: abc",
            "exec: {command: 'true', env: [{name: 'a=b', value: c}]}",
            0,
            "cannot be run",
        ),
        (
            "token: abc",
            "exec: {command: /there/is/no/such/program, installHint: get it there}",
            0,
            "get it there",
        ),
        ("token: abc", 'tokenFile: "a\\0b"', 0, "the token cannot be read"),
        ("token: abc", "auth-provider: hello", 16, "auth-provider is not a mapping"),
        ("token: abc", "client-certificate-data: YQ==", 0, "cannot be used"),
        ("current-context: here", "current-context: [here]", 3, "current-context is not text"),
        ("current-context: here", "current-context: there", 0, 'there is no context "there"'),
        (
            "    cluster: c\n    user",
            "    cluster: [c]\n    user",
            11,
            "contexts[0].context.cluster is not text",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    was: str, becomes: str, line: int, complaint: str, tmp_path: Path
) -> None:
    assert was in GOOD
    with pytest.raises(BadInput) as caught:
        opened(tmp_path, GOOD.replace(was, becomes))
    message = str(caught.value)
    assert complaint in message and str(tmp_path) in message and "\n" not in message, message
    if line:
        assert caught.value.place and caught.value.place.line == line, message


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "a: " * 100,
        "- 5",
        "5",
        "hello",
        "clusters: 5",
        "clusters: {a: b}",
        "a: &a [*a]",
        "\x00",
        "\udcff",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
            for before, name in zip("abcdefghi", "bcdefghij", strict=True)
        ),
        "{",
        "users: [{name: u, user: !!python/object:os.system {}}]",
        "--- {}\n--- {}\n",
    ],
)
def test_a_text_that_is_no_kubeconfig_at_all_is_refused_by_those_who_read_and_those_who_write(
    text: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput):
        opened(tmp_path, text)
    with pytest.raises(BadInput):
        kubeconfig_file.read(tmp_path / "kubeconfig")


def command(folder: Path, body: str) -> str:
    program = folder / "token"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(0o755)
    return GOOD.replace(
        "token: abc", f"exec: {{command: {program}, env: [{{name: NUMBER, value: 5}}]}}"
    )


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "hello",
        "null",
        "[]",
        "5",
        "{}",
        '{"status": 5}',
        '{"status": null}',
        '{"status": {"token": 5}}',
        '{"status": {"token": []}}',
        '{"status": {"token": ""}}',
        '{"status": {"token": "a\\nb"}}',
        '{"status": {"clientCertificateData": {}}}',
        "[" * 100_000,
        '{"status": {"token": "a", "expirationTimestamp": []}}',
    ],
)
def test_a_token_command_that_prints_rubbish_is_named_with_what_it_complains_of(
    printed: str, tmp_path: Path
) -> None:
    (tmp_path / "said").write_text(printed)
    body = (
        f"sys.stdout.write(open({str(tmp_path / 'said')!r}).read()); sys.stderr.write('I"
        " am\\nbroken')"
    )
    with pytest.raises(BadInput) as caught:
        opened(tmp_path, command(tmp_path, body))
    message = str(caught.value)
    assert "\n" not in message and str(tmp_path / "token") in message and len(message) < 900


def test_a_token_command_that_fails_is_shown_with_what_it_complains_of(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="says: you are not logged in"):
        opened(tmp_path, command(tmp_path, "sys.exit('you are not\\nlogged in')"))


def test_numbers_in_the_environment_of_a_token_command_are_text_as_for_kubectl(
    tmp_path: Path,
) -> None:
    said = json.dumps({"status": {"token": "number-"}})
    body = f"import os\nprint({said!r}.replace('number-', 'number-' + os.environ['NUMBER']))"
    assert (
        opened(tmp_path, command(tmp_path, body)).credentials.authorization() == "Bearer number-5"
    )


def test_an_expiry_that_is_no_time_only_ends_the_token_early(tmp_path: Path) -> None:
    said = json.dumps({"status": {"token": "a", "expirationTimestamp": "0001-01-01T00:00:00Z"}})
    assert (
        opened(tmp_path, command(tmp_path, f"print({said!r})")).credentials.authorization()
        == "Bearer a"
    )


def test_a_home_that_is_not_there_is_bad_input() -> None:
    with pytest.raises(BadInput, match="cannot be found"):
        access(KubeSettings("~nobody-of-this-name/config"))


def test_a_kubeconfig_that_may_not_be_read_is_bad_input(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(BadInput):
        kubeconfig_file.read(folder)
    if os.getuid():
        file = tmp_path / "closed"
        file.write_text(GOOD)
        file.chmod(0)
        with pytest.raises(BadInput, match="cannot be read"):
            access(KubeSettings(str(file)))
