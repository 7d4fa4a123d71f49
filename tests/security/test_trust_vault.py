"""Files encrypted by a vault are not sent to hosts by mistake."""

from __future__ import annotations

import pytest

from tests.support.security.victim import (
    Victim,
    victim,  # noqa: F401
)
from tests.support.sshd import NodeSet

# Encrypted files.

VAULT = """$ANSIBLE_VAULT;1.1;AES256
37333733373337333733373337333733373337333733373337333733373337333733373337333733
3733373337333733373337333733373337333733373337330a633832326162333234313964303864
38636464343166386166613163656330383431663933353539393934326330306138323866353639
6632666665313232640a353331663732313632383132336466613965666639643861626233633962
3032
"""


@pytest.mark.parametrize(
    "step",
    [
        "copy: {src: secret, dest: DEST}",
        "copy: {src: folder/, dest: DEST}",
        "template: {src: secret, dest: DEST}",
        "template: {src: including.j2, dest: DEST}",
        "script: secret",
        "unarchive: {src: secret, dest: /tmp}",
        "copy: {content: \"{{ lookup('file', 'secret') }}\", dest: DEST}",
        "copy: {content: \"{{ lookup('template', 'secret') }}\", dest: DEST}",
        "copy: {content: \"{{ lookup('ini', 'a', file='secret') }}\", dest: DEST}",
    ],
)
def test_what_is_encrypted_is_not_sent_without_its_password(
    victim: Victim, nodes: NodeSet, step: str
) -> None:
    dest = nodes["node1"].scratch / victim.folder.name
    (victim.folder / "folder").mkdir()
    for name in ("secret", "folder/secret"):
        (victim.folder / name).write_text(VAULT)
    (victim.folder / "including.j2").write_text("{% include 'secret' %}")
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks: [{{{step.replace("DEST", str(dest))}}}]
"""),
        2,
    )
    assert "secret:1: encrypted with vault, and no password is given" in outcome.text
    assert not dest.exists()


def test_an_encrypted_file_is_sent_as_it_is_when_that_is_asked_for(
    victim: Victim, nodes: NodeSet
) -> None:
    dest = nodes["node1"].scratch / victim.folder.name
    (victim.folder / "secret").write_text(VAULT)
    victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks: [copy: {{src: secret, dest: {dest}, decrypt: false}}]
""")
    )
    assert dest.read_text() == VAULT
