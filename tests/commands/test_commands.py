"""Every command: help, JSON and nothing else on stdout, right exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.runner import Stage, invoke
from tests.support.sshd import NodeSet

PLAYBOOK = """
- name: first
  hosts: nodes
  gather_facts: false
  tasks:
    - {name: make, copy: {content: "hello\\n", dest: "{{ home }}/file"}, tags: [files]}
    - {name: say, debug: {msg: "{{ inventory_hostname }}"}, tags: [words]}
    - {name: run, command: echo hi}
"""


def test_json_is_all_there_is_on_stdout(stage: Stage, nodes: NodeSet) -> None:
    playbook = stage.write(PLAYBOOK)
    on_inventory = ("--inventory", stage.inventory, "--json")
    commands: list[tuple[object, ...]] = [
        ("play", playbook, *on_inventory),
        ("play", playbook, "--check", *on_inventory),
        ("play", playbook, "--list-tasks", *on_inventory),
        ("play", playbook, "--list-hosts", *on_inventory),
        ("play", playbook, "--list-tags", *on_inventory),
        ("play", playbook, "--syntax-check", *on_inventory),
        ("run", "nodes", "--module", "ping", *on_inventory),
        ("inventory.show", *on_inventory),
        ("inventory.show", "--host", "node1", *on_inventory),
        ("inventory.show", "--why", "scratch", *on_inventory),
        ("runs.list", "--json"),
        ("runs.show", "--json"),
        ("modules.list", "--json"),
        ("modules.show", "copy", "--json"),
        ("play", stage.folder / "nowhere.yaml", *on_inventory),
        ("modules.show", "coppy", "--json"),
        ("inventory.show", "--inventory", stage.folder / "nowhere.yaml", "--json"),
    ]
    for command in commands:
        done = stage.invoke(*command)
        json.loads(done.out)
        assert done.code in (0, 5), (command, done.text)


def test_the_json_of_a_run_has_the_eight_counts_results_and_exit_code(stage: Stage) -> None:
    done = stage.play(PLAYBOOK)
    assert done.code == 0
    assert set(done.data) >= {"recap", "results", "run_id", "exit_code"}
    assert set(done.counts("node1")) == {
        "ok",
        "changed",
        "unreachable",
        "failed",
        "skipped",
        "rescued",
        "ignored",
        "unknown",
    }
    assert [found["step"] for found in done.data["results"] if found["host"] == "node1"] == [
        "make",
        "say",
        "run",
    ]


def test_exit_codes_tell_what_happened(stage: Stage) -> None:
    assert stage.play(PLAYBOOK, "--check", "--exit-code").code == 3
    assert stage.play(PLAYBOOK).code == 0
    assert stage.play(PLAYBOOK.replace("echo hi", "/bin/false")).code == 2
    assert stage.play("- hosts: nodes\n  tasks: [{pong: }]\n").code == 5
    assert stage.play(PLAYBOOK, "--limit", "node9").code == 5
    assert stage.play(PLAYBOOK, "--forks", "0").code == 5
    assert stage.play(PLAYBOOK, "--start-at-task", "mak").code == 5
    assert stage.play(PLAYBOOK, "--extra-vars", "nonsense").code == 5


def test_bad_input_is_told_before_a_host_is_touched(stage: Stage, nodes: NodeSet) -> None:
    done = stage.play(PLAYBOOK + "    - {name: late, coppy: {}}\n")
    assert done.code == 5
    assert f"{stage.folder}/play.yaml:9" in done.err and 'did you mean "copy"?' in done.err
    assert not (nodes["node1"].scratch / stage.folder.name / "file").exists()


def test_tags_limits_and_starts_choose_the_work(stage: Stage) -> None:
    def steps(*words: str) -> list[str]:
        return [
            f"{found['host']} {found['step']}"
            for found in stage.play(PLAYBOOK, *words).data["results"]
        ]

    assert steps("--tags", "words") == ["node1 say", "node2 say"]
    assert steps("--skip-tags", "words", "--limit", "node2") == ["node2 make", "node2 run"]
    assert steps("--start-at-task", "run") == ["node1 run", "node2 run"]
    assert steps("--limit", "!node1", "--tags", "files,words") == ["node2 make", "node2 say"]


def test_check_touches_nothing_and_never_guesses(stage: Stage, nodes: NodeSet) -> None:
    done = stage.play(
        PLAYBOOK
        + """
    - {name: uses, debug: {msg: "{{ made.stdout }}"}, when: "'x' in made.stdout"}
""".replace("- {name: uses", "- {name: made, command: echo x, register: made}\n    - {name: uses"),
        "--check",
    )
    assert done.code == 0
    assert done.result("node1", "make")["status"] == "changed"
    assert done.result("node1", "run")["status"] == "unknown"
    assert done.result("node1", "uses")["status"] == "unknown"
    assert not (nodes["node1"].scratch / stage.folder.name / "file").exists()


def test_diff_shows_lines_before_and_after(stage: Stage) -> None:
    stage.play(PLAYBOOK)
    shown = stage.play(PLAYBOOK.replace("hello", "goodbye"), "--diff", "--check", as_json=False)
    assert "-hello" in shown.out and "+goodbye" in shown.out


def test_a_second_run_changes_nothing(stage: Stage) -> None:
    stage.play(PLAYBOOK, "--tags", "files")
    assert stage.play(PLAYBOOK, "--tags", "files").counts("node1")["changed"] == 0


def test_a_run_leaves_a_record_that_can_be_read_back(stage: Stage) -> None:
    ran = stage.play(
        PLAYBOOK.replace("echo hi", "echo to-be-kept; /bin/false").replace("command", "shell")
    )
    listed = stage.invoke("runs.list", "--json").data
    assert listed[0]["run_id"] == ran.data["run_id"] and listed[0]["exit_code"] == 2
    shown = stage.invoke("runs.show", "--json").data
    assert stage.invoke("runs.show", ran.data["run_id"], "--json").data == shown
    assert stage.invoke("runs.show", "--id", ran.data["run_id"], "--json").data == shown
    assert stage.invoke("runs.show", "1999", "--json").code == 5
    kinds = [
        (event["event"], event.get("step"))
        for event in shown["events"]
        if event.get("host") == "node1"
    ]
    assert kinds.index(("intent", "make")) < kinds.index(("outcome", "make"))
    folder = Path(shown["folder"])
    assert (folder.parent / "latest").resolve() == folder
    assert json.loads((folder / "recap.json").read_text())["exit_code"] == 2
    assert "to-be-kept" in (folder / "hosts" / "node1.log").read_text()
    assert (folder / "events.jsonl").stat().st_mode & 0o077 == 0


def test_no_log_keeps_a_secret_out_of_everything(stage: Stage) -> None:
    done = stage.play(
        """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: quiet, command: echo squeamish-ossifrage, no_log: true, register: kept}
    - {name: quiet loop, command: "echo {{ item }}", loop: [squeamish-ossifrage], no_log: true}
    - {name: uses it, assert: {that: "kept.stdout == 'squeamish-' ~ 'ossifrage'"}}
""",
        "--verbose",
    )
    assert done.code == 0, done.text
    written = "".join(
        file.read_text()
        for file in stage.state.rglob("*")
        if file.is_file() and not file.is_symlink()
    )
    assert "ossifrage" not in done.text.replace("kept.stdout ==", "")
    assert "squeamish-ossifrage" not in written


def test_a_failed_run_can_be_taken_back(stage: Stage, nodes: NodeSet) -> None:
    home = nodes["node1"].scratch / stage.folder.name
    (home / "file").write_text("as it was\n")
    (home / "file").chmod(0o640)

    done = stage.play(
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {file: {path: "{{ home }}/made/deep", state: directory}}
    - {copy: {content: new, dest: "{{ home }}/file", mode: "0600"}}
    - {lineinfile: {path: "{{ home }}/file", line: more}}
    - {fail: }
""",
        "--rollback",
        as_json=False,
    )

    assert done.code == 2
    assert done.out.count("restored") == 3
    assert (home / "file").read_text() == "as it was\n"
    assert (home / "file").stat().st_mode & 0o777 == 0o640
    assert not (home / "made" / "deep").exists()


def test_one_off_steps_run_without_a_playbook(stage: Stage) -> None:
    done = stage.invoke(
        "run",
        "node1",
        "--module",
        "copy",
        "--args",
        "content=hi dest={{ home }}/one",
        "--inventory",
        stage.inventory,
        "--json",
    )
    assert done.code == 0, done.text
    assert done.counts("node1")["changed"] == 1
    shell = stage.invoke(
        "run",
        "nodes",
        "--module",
        "shell",
        "--args",
        "cat {{ home }}/one || true",
        "--inventory",
        stage.inventory,
        "--json",
    )
    assert {found["values"]["stdout"] for found in shell.data["results"]} == {"hi", ""}


def test_a_module_is_documented_by_its_own_code(tmp_path: Path) -> None:
    found = invoke("modules.show", "lineinfile", "--json", state=tmp_path).data
    named = {argument["name"]: argument for argument in found["arguments"]}
    assert named["path"]["required"] and "dest" in named["path"]["aliases"]
    assert all(argument["help"] for argument in found["arguments"])


def test_colour_is_only_for_screens_and_those_who_ask(stage: Stage) -> None:
    assert "\033[" not in stage.play(PLAYBOOK, as_json=False).out
    assert "\033[" in stage.play(PLAYBOOK, as_json=False, NO_COLOR="", FORCE_COLOR="1").out


def test_the_nodes_of_the_default_inventory_are_started_when_they_are_needed(
    tmp_path: Path,
) -> None:
    try:
        done = invoke("play", "playbooks/hello-nodes.yaml", "--json", state=tmp_path)
        assert done.code == 0, done.text
        assert done.counts("node1")["failed"] == done.counts("node2")["unreachable"] == 0
    finally:
        assert invoke("sandbox.down", state=tmp_path).code == 0


def test_a_password_for_a_web_service_is_neither_told_nor_recorded(stage: Stage) -> None:
    done = stage.play(
        """
- hosts: node1
  gather_facts: false
  tasks:
    - uri:
        url: "http://127.0.0.1:1/"
        url_username: ada
        url_password: pa55word
        force_basic_auth: true
        timeout: 2
""",
        "--verbose",
    )
    assert done.code == 2 and "Request failed" in done.text
    recorded = "".join(path.read_text() for path in stage.state.rglob("*") if path.is_file())
    assert "Request failed" in recorded
    assert "pa55word" not in done.text + recorded
