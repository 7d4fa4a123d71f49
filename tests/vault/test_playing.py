"""Playbooks with encrypted values and files: used like any other, and never repeated in output."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.vault.vault import Vault
from tests.support.runner import Outcome, Stage

RECORDED = Path(__file__).parent / "recorded"
FIRST, SECOND = f"{RECORDED}/first.password", f"{RECORDED}/second.password"
SECRET = "s3cret-of-the-vault"


def encrypted(text: str, password_file: str = FIRST) -> str:
    vault = Vault([password_file])
    return vault.encrypt(text.encode(), vault.encrypting_password())


def value(text: str, indent: int, password_file: str = FIRST) -> str:
    lines = encrypted(text, password_file).splitlines()
    return "!vault |\n" + "".join(" " * indent + line + "\n" for line in lines)


def everything_written(stage: Stage, outcome: Outcome) -> str:
    """The output of a run, and every file of its record."""
    records = [path for path in stage.state.rglob("*") if path.is_file()]
    assert any(path.name == "events.jsonl" for path in records)
    return outcome.text + "".join(path.read_text(errors="replace") for path in records)


HEAD = f"""
- hosts: node1
  gather_facts: false
  vars:
    secret: {value(SECRET, 6)}
"""


@pytest.mark.parametrize("words", [(), ("--verbose", "--diff"), ("--check", "--diff")])
@pytest.mark.parametrize("as_json", [True, False])
def test_a_decrypted_value_is_in_no_output_and_no_record(
    stage: Stage, words: tuple[str, ...], as_json: bool
) -> None:
    (stage.folder / "vars.yaml").write_text(encrypted(f"other: [{{inner: {SECRET}-2}}]\n"))
    (stage.folder / "secret.txt").write_text(encrypted(f"{SECRET}-3\n"))
    (stage.folder / "secret.j2").write_text(encrypted("{{ secret }} " + f"{SECRET}-4\n"))
    outcome = stage.play(
        HEAD
        + """
  vars_files: [vars.yaml]
  tasks:
    - copy: {content: "a {{ secret }} b\\n", dest: "{{ home }}/content"}
    - copy: {src: secret.txt, dest: "{{ home }}/file"}
    - template: {src: secret.j2, dest: "{{ home }}/template"}
    - command: "true {{ secret }}"
    - name: "step with {{ secret }}"
      command: "true {{ item }}"
      loop: ["{{ secret }}", "{{ other[0].inner }}"]
    - include_vars: vars.yaml
    - set_fact: {kept: "{{ secret }}"}
    - lineinfile: {path: "{{ home }}/lines", line: "password={{ kept }}", create: true}
    - file: {path: "{{ home }}/{{ secret }}", state: "no such {{ secret }}"}
      ignore_errors: true
    - command: "{{ home }}/no-such-program-{{ secret }}"
      ignore_errors: true
    - debug: {msg: "{{ undefined_variable + secret }}"}
      ignore_errors: true
""",
        "--vault-password-file",
        FIRST,
        *words,
        as_json=as_json,
    )
    assert outcome.code == 0, outcome.text
    assert SECRET not in everything_written(stage, outcome)
    assert "Traceback" not in outcome.text


def test_a_decrypted_value_reaches_the_host(stage: Stage) -> None:
    outcome = stage.play(
        HEAD
        + f"""
  tasks:
    - copy: {{content: "{{{{ secret }}}}", dest: "{{{{ home }}}}/content"}}
    - command: cat {{{{ home }}}}/content
      register: shown
    - assert: {{that: "shown.stdout == '{SECRET}'"}}
""",
        "--vault-id",
        FIRST,
    )
    assert outcome.code == 0, outcome.text


def test_what_a_step_prints_on_purpose_is_shown_and_not_recorded(stage: Stage) -> None:
    outcome = stage.play(
        HEAD
        + """
  tasks:
    - name: shown
      debug: {msg: "it is {{ secret }}"}
    - name: echoed
      command: "echo {{ secret }}"
""",
        "--vault-id",
        FIRST,
    )
    assert outcome.result("node1", "shown")["values"]["msg"] == f"it is {SECRET}"
    echoed = outcome.result("node1", "echoed")["values"]
    assert (echoed["stdout"], echoed["cmd"]) == (SECRET, ["echo", "********"])
    records = [path.read_text() for path in stage.state.rglob("*") if path.is_file()]
    assert SECRET not in "".join(records)


def test_the_diff_of_an_encrypted_file_is_hidden(stage: Stage) -> None:
    (stage.folder / "secret.txt").write_text(encrypted("x=1\n"))
    playbook = """
- hosts: node1
  gather_facts: false
  tasks: [{copy: {src: secret.txt, dest: "{{ home }}/file"}}]
"""
    outcome = stage.play(playbook, "--diff", "--vault-id", FIRST, as_json=False)
    assert "hidden because the source is encrypted with vault" in outcome.out
    assert "x=1" not in outcome.out
    again = stage.play(playbook, "--vault-id", FIRST)
    assert again.counts("node1")["changed"] == 0


def test_a_wrong_password_fails_the_step_that_needs_it_and_names_file_and_ids(
    stage: Stage,
) -> None:
    outcome = stage.play(
        HEAD
        + """
  tasks:
    - ping:
    - name: needs it
      debug: {var: secret}
""",
        "--vault-id",
        f"lab@{SECOND}",
    )
    assert outcome.code == 2
    assert outcome.counts("node1")["ok"] == 1
    message = outcome.result("node1", "needs it")["values"]["msg"]
    assert message.startswith(f"{stage.folder / 'play.yaml'}:5: encrypted with vault")
    assert message.endswith(f"wrong password; tried lab ({SECOND})")


def test_an_encrypted_playbook_without_a_password_is_refused_in_one_line(stage: Stage) -> None:
    outcome = stage.play(encrypted("- hosts: node1\n"))
    assert outcome.code == 5
    assert outcome.err.splitlines() == [
        f"error: {stage.folder / 'play.yaml'}:1: encrypted with vault, and no password is given;"
        " use --vault-password-file FILE, --vault-id LABEL@FILE or --ask-vault-pass"
    ]


def test_a_missing_password_file_is_refused_before_anything_runs(stage: Stage) -> None:
    outcome = stage.play(HEAD + "  tasks: [{ping: }]", "--vault-password-file", "/no/such/file")
    assert outcome.code == 5
    assert "error: /no/such/file: there is no such vault password file\n" in outcome.err
    assert not (stage.state / "runs").exists()


def test_the_environment_names_passwords_as_ansible_s_does(stage: Stage) -> None:
    playbook = HEAD + f"  tasks: [{{assert: {{that: \"secret == '{SECRET}'\"}}}}]\n"
    for name, text in (
        ("ANSIBLE_VAULT_PASSWORD_FILE", FIRST),
        ("ANSIBLE_VAULT_IDENTITY_LIST", f"lab@{SECOND}, default@{FIRST}"),
    ):
        outcome = stage.play(playbook, **{name: text})
        assert outcome.code == 0, outcome.text


def test_an_inventory_may_be_encrypted_and_hold_encrypted_settings(stage: Stage) -> None:
    text = stage.inventory.read_text()
    (stage.folder / "group_vars").mkdir()
    (stage.folder / "group_vars" / "all.yaml").write_text(f"token: {value(SECRET, 2)}")
    sealed = stage.folder / "sealed.yaml"
    sealed.write_text(encrypted(text))
    sealed.chmod(0o600)
    outcome = stage.invoke(
        "run",
        "node1",
        "--module",
        "assert",
        "--args",
        f"that=\"token == '{SECRET}'\"",
        "--inventory",
        sealed,
        "--vault-id",
        FIRST,
        "--json",
    )
    assert outcome.code == 0, outcome.text
    shown = stage.invoke("inventory.show", "--inventory", sealed, "--vault-id", FIRST)
    assert SECRET not in shown.out and "__ansible_vault" in shown.out


def test_encrypted_text_from_a_host_is_never_decrypted(stage: Stage) -> None:
    (stage.folder / "ciphertext").write_text(encrypted(SECRET))
    outcome = stage.play(
        """
- hosts: node1
  gather_facts: false
  tasks:
    - copy: {src: ciphertext, dest: "{{ home }}/ciphertext", decrypt: false}
    - command: cat {{ home }}/ciphertext
      register: said
    - set_fact: {from_host: "{{ said.stdout }}", parsed: "{{ {'__ansible_vault': said.stdout} }}"}
    - name: shown
      debug: {msg: "{{ from_host }} {{ parsed }} {{ from_host is vault_encrypted }}"}
""",
        "--vault-id",
        FIRST,
    )
    assert outcome.code == 0, outcome.text
    assert SECRET not in outcome.text
    assert "$ANSIBLE_VAULT" in outcome.result("node1", "shown")["values"]["msg"]


def test_a_vars_file_may_be_a_list_of_mappings(stage: Stage) -> None:
    (stage.folder / "list.yaml").write_text(encrypted("- {a: 1}\n- {b: 2}\n"))
    outcome = stage.play(
        """
- hosts: node1
  gather_facts: false
  vars_files: [list.yaml]
  tasks: [{assert: {that: "a + b == 3"}}]
""",
        "--vault-id",
        FIRST,
    )
    assert outcome.code == 0, outcome.text
