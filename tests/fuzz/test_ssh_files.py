"""Any text as an ssh configuration, and as a known_hosts file."""

from __future__ import annotations

from base64 import b64decode
from itertools import count

from paramiko import Ed25519Key

from playrunner.errors import PlayrunnerError
from playrunner.inventory.inventory import read_inventory
from playrunner.ssh.keys import hostkeys
from playrunner.ssh.targets import target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import Templar
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

CONFIGS = [
    """
Host n1 n2
  HostName 192.0.2.%h
  Port 2222
  User me
  IdentityFile ~/.ssh/key
  ConnectTimeout 10
  ServerAliveInterval 5
  UserKnownHostsFile /dev/null "/tmp/a b"
  StrictHostKeyChecking accept-new
Host * !bad
  ProxyJump jump,me@other:2200,[::1]:22
  IdentitiesOnly yes
  HostKeyAlias alias
""",
    "Host=n1\nProxyCommand nc %h %p\nMatch host n1\n  Port=22\n",
]
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIGv5vcvzF0tvCMlMyLMo9Pxf5ZzRBhJIYo9jvpXMkUYW"
KNOWN = [
    f"n1 ssh-ed25519 {KEY}\n[n1]:2222,192.0.2.1 ssh-ed25519 {KEY} a comment\n@revoked * ssh-ed25519"
    f" {KEY}\n|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USECr3SWf1JUPsms5AqfD5QfxkM= ssh-ed25519 {KEY}\n#"
    f" comment\n*.example,!bad.example ssh-rsa {KEY}\n@cert-authority *.example ssh-ed25519 {KEY}\n"
]
OFFERED = Ed25519Key(data=b64decode(KEY))
_numbers = count()


@fuzzed("ssh_configs", CONFIGS, (PlayrunnerError,), structured=False)
def test_any_ssh_configuration_is_read_or_refused(text: str) -> None:
    file = scratch(f"config{next(_numbers)}")  # what was read is kept by name
    file.write_bytes(as_bytes(text))
    inventory = scratch("hosts.yaml")
    inventory.write_text(f"all: {{hosts: {{n1: {{ansible_ssh_common_args: -F {file}}}}}}}\n")
    try:
        target_of(Scope(RunVariables(read_inventory([inventory]), Templar(), {}, {}), "n1"))
    finally:
        file.unlink()


@fuzzed("known_hosts", KNOWN, (PlayrunnerError,), structured=False)
def test_any_known_hosts_file_is_read(text: str) -> None:
    file = scratch(f"known{next(_numbers)}")
    file.write_bytes(as_bytes(text))
    try:
        for name in ("n1", "[n1]:2222", "a.example", "|1|", "*"):
            hostkeys.key_status([str(file)], [name, "n1"], OFFERED)  # type: ignore[attr-defined]
            hostkeys.known_kinds([str(file)], [name])  # type: ignore[attr-defined]
    finally:
        file.unlink()
