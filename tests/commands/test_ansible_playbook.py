"""playrunner-playbook: what scripts written for ansible-playbook read and pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PLAY = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - name: greet {{ word | default('you') }}
      debug:
        msg: hello
      tags: greeting
    - command: echo {{ item }}
      loop: [a, b]
    - command: /bin/false
      ignore_errors: true
    - copy:
        content: "text\\n"
        dest: "{{ playbook_dir }}/made"
      notify: restart
  handlers:
    - name: restart
      debug:
        msg: restarted
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "playrunner.commands.ansible_programs.playbook", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    (tmp_path / "site.yml").write_text(PLAY)
    return tmp_path


def test_the_output_is_that_of_the_default_callback(playbook: Path) -> None:
    done = run(playbook, "site.yml")
    assert done.returncode == 0
    for text in (
        f"\nPLAY [localhost] {'*' * 63}\n",
        f"\nTASK [greet you] {'*' * 63}\n",
        'ok: [localhost] => {\n    "msg": "hello"\n}\n',
        "changed: [localhost] => (item=a)\nchanged: [localhost] => (item=b)\n",
        'fatal: [localhost]: FAILED! => {"changed": true, "cmd": ["/bin/false"]',
        "}\n...ignoring\n",
        "\nTASK [copy] ",
        "\nRUNNING HANDLER [restart] ",
        f"\nPLAY RECAP {'*' * 69}\n"
        "localhost                  : ok=5    changed=3    unreachable=0    failed=0   "
        " skipped=0    rescued=0    ignored=1   \n",
    ):
        assert text in done.stdout


def test_a_failed_task_ends_with_2_and_its_result_in_one_line(playbook: Path) -> None:
    (playbook / "fail.yml").write_text(
        "- hosts: localhost\n  gather_facts: no\n  tasks:\n    - fail: msg=no\n"
    )
    done = run(playbook, "fail.yml")
    assert done.returncode == 2
    assert 'fatal: [localhost]: FAILED! => {"changed": false, "msg": "no"}\n' in done.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["none.yml"], 1),
        (["bad.yml"], 4),
        (["site.yml", "--nosuch"], 2),
        (["site.yml", "--step"], 5),
        (["site.yml", "-e", "@list.yml"], 5),
    ],
)
def test_bad_input_ends_with_ansibles_exit_codes(
    playbook: Path, words: list[str], code: int
) -> None:
    (playbook / "list.yml").write_text("- a\n")
    (playbook / "bad.yml").write_text("- hosts: localhost\n  tasks:\n    - nosuchmodule: x\n")
    done = run(playbook, *words)
    assert done.returncode == code
    assert done.stderr and "Traceback" not in done.stderr


def test_an_unreachable_host_ends_with_4(playbook: Path) -> None:
    (playbook / "hosts").write_text("far ansible_host=127.0.0.1 ansible_port=1\n")
    (playbook / "far.yml").write_text("- hosts: far\n  tasks: []\n")
    done = run(playbook, "-i", "hosts", "far.yml")
    assert done.returncode == 4
    assert "fatal: [far]: UNREACHABLE! => {" in done.stdout


def test_flags_of_ansible_reach_the_run(playbook: Path) -> None:
    (playbook / "more.yml").write_text("word: world\n")
    done = run(playbook, "site.yml", "-t", "greeting", "-e", "@more.yml", "-vv", "-C", "-f", "3")
    assert done.returncode == 0
    assert "TASK [greet world]" in done.stdout
    assert "TASK [command]" not in done.stdout
    assert f"task path: {playbook}/site.yml:4" in done.stdout


def test_flags_of_connections_are_weaker_than_the_playbook(playbook: Path) -> None:
    (playbook / "hosts").write_text("here\n")
    (playbook / "who.yml").write_text(
        "- hosts: here\n  gather_facts: no\n  tasks:\n    - command: id -un\n"
    )
    assert run(playbook, "-i", "hosts", "-c", "local", "who.yml").returncode == 0


def test_listings_are_in_ansibles_form(playbook: Path) -> None:
    done = run(playbook, "site.yml", "--list-tasks", "--list-hosts", "--list-tags")
    assert done.returncode == 0
    assert done.stdout == (
        "\nplaybook: site.yml\n\n  play #1 (localhost): localhost\tTAGS: []\n"
        "    pattern: ['localhost']\n    hosts (1):\n      localhost\n    tasks:\n"
        "      greet {{ word | default('you') }}\tTAGS: [greeting]\n"
        "      command\tTAGS: []\n      command\tTAGS: []\n      copy\tTAGS: []\n"
        "      TASK TAGS: [greeting]\n"
    )
    assert run(playbook, "site.yml", "--syntax-check").stdout == "\nplaybook: site.yml\n"


def test_a_diff_has_ansibles_headers(playbook: Path) -> None:
    (playbook / "made").write_text("old\n")
    done = run(playbook, "site.yml", "-D", "-C")
    assert f"--- before: {playbook}/made\n+++ after: {playbook}/made\n" in done.stdout
    assert "\n-old\n+text\n" in done.stdout


def test_two_playbooks_share_one_recap(playbook: Path) -> None:
    done = run(playbook, "site.yml", "site.yml", "-t", "greeting")
    assert done.stdout.count("PLAY [localhost]") == 2
    assert done.stdout.count("PLAY RECAP") == 1
    assert "ok=2 " in done.stdout


def test_a_prompt_without_a_terminal_takes_its_default(tmp_path: Path) -> None:
    (tmp_path / "asked.yml").write_text("""\
- hosts: "{{ where }}"
  gather_facts: false
  vars_prompt:
    - {name: where, prompt: Which host, default: localhost}
    - {name: hashed, prompt: Password, default: secret, encrypt: sha512_crypt, salt: abcdefgh}
  tasks:
    - assert:
        that: hashed == 'secret' | password_hash('sha512', 'abcdefgh')
""")
    done = run(tmp_path, "asked.yml")
    assert done.returncode == 0, done.stdout
    assert done.stderr.count("[WARNING]: Not prompting as we are not in interactive mode\n") == 1


def test_a_prompt_without_default_or_terminal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "asked.yml").write_text(
        "- {hosts: localhost, vars_prompt: [{name: word, prompt: A word}], tasks: []}\n"
    )
    done = run(tmp_path, "asked.yml")
    assert done.returncode != 0
    assert '"A word" needs an answer and there is no terminal' in done.stderr


META = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - name: not yet
      meta: end_host
      when: false
    - name: now
      meta: end_play
"""


def test_meta_steps_are_shown_and_counted_like_ansibles(playbook: Path) -> None:
    (playbook / "meta.yml").write_text(META)
    done = run(playbook, "-vv", "meta.yml")
    for text in (
        f"\nPLAYBOOK: meta.yml {'*' * 61}\n1 plays in meta.yml\n",
        "\nMETA: end_host conditional evaluated to False, continuing execution for localhost\n"
        'skipping: [localhost] => {"msg": "end_host conditional evaluated to false, continuing'
        ' execution for localhost", "skip_reason": "end_host conditional evaluated to False,'
        ' continuing execution for localhost"}\n',
        f"\nTASK [now] {'*' * 69}\ntask path: {playbook}/meta.yml:7\nMETA: ending play\n",
    ):
        assert text in done.stdout
    assert "META" not in run(playbook, "meta.yml").stdout


def test_a_failure_shows_the_lines_of_its_task_unless_it_is_hidden(playbook: Path) -> None:
    hidden = "    - fail: msg=no\n      no_log: true\n"
    (playbook / "fail.yml").write_text(
        f"- hosts: localhost\n  gather_facts: no\n  tasks:\n    - fail: msg=no\n"
        f"      ignore_errors: true\n{hidden}"
    )
    done = run(playbook, "fail.yml")
    excerpt = "2   gather_facts: no\n3   tasks:\n4     - fail: msg=no\n        ^ column 7\n"
    assert f"Origin: {playbook}/fail.yml:4:7\n\n{excerpt}" in done.stdout
    assert done.stdout.count("Origin:") == 1


STATS = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - set_stats: { data: { count: "{{ item }}", names: ["n{{ item }}"] } }
      loop: [10, 15]
    - set_stats: { data: { own: 1 }, per_host: true }
    - set_stats: { data: { own: 2 }, per_host: true, aggregate: false }
"""


def test_custom_stats_are_shown_where_they_are_asked_for(
    playbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (playbook / "stats.yml").write_text(STATS)
    assert "CUSTOM STATS" not in run(playbook, "stats.yml").stdout
    monkeypatch.setenv("ANSIBLE_SHOW_CUSTOM_STATS", "yes")
    shown = run(playbook, "stats.yml").stdout.partition("CUSTOM STATS: ")[2]
    assert (
        '\n\tlocalhost: { "own": 2}\n\tRUN: { "count": 25, "names": [  "n10",  "n15" ]}\n' in shown
    )


def test_modules_that_a_filter_file_rejects_are_unknown(playbook: Path) -> None:
    (playbook / "ansible.cfg").write_text("[defaults]\nplugin_filters_cfg = filters.yml\n")
    (playbook / "filters.yml").write_text("filter_version: 1.0\nmodule_rejectlist: [copy]\n")
    done = run(playbook, "site.yml")
    assert done.returncode == 4 and "copy" in done.stderr
    (playbook / "filters.yml").write_text("filter_version: 1.0\nmodule_rejectlist: [fetch]\n")
    assert run(playbook, "site.yml").returncode == 0


def test_a_line_ending_may_be_written_as_its_escape(playbook: Path) -> None:
    (playbook / "lines.j2").write_text("one\n{{ 'two' }}\n")
    (playbook / "lines.yml").write_text(
        "- hosts: localhost\n  gather_facts: no\n  tasks:\n    - template:\n"
        f"        src: lines.j2\n        dest: {playbook}/lines\n"
        "        newline_sequence: '\\r\\n'\n"
    )
    assert run(playbook, "lines.yml").returncode == 0
    assert (playbook / "lines").read_bytes() == b"one\r\ntwo\r\n"


def test_a_template_keeps_its_mode_and_its_name_is_no_format(playbook: Path) -> None:
    (playbook / "ansible.cfg").write_text("[defaults]\nansible_managed = {file} of %%Y\n")
    source = playbook / "%necho x%n.j2"
    source.write_text("# {{ ansible_managed }}\n")
    source.chmod(0o547)
    (playbook / "managed.yml").write_text(
        "- hosts: localhost\n  gather_facts: no\n  tasks:\n    - template:\n"
        f"        src: '%necho x%n.j2'\n        dest: {playbook}/managed\n        mode: preserve\n"
    )
    assert run(playbook, "managed.yml").returncode == 0
    made = playbook / "managed"
    assert made.read_text().count("\n") == 1 and "%necho x%n.j2 of " in made.read_text()
    assert made.stat().st_mode & 0o7777 == 0o547


def test_a_template_in_the_settings_for_templates_is_refused(playbook: Path) -> None:
    (playbook / "ansible.cfg").write_text("[defaults]\nansible_managed = {file} {{{{ 1 + 1 }}}}\n")
    (playbook / "managed.j2").write_text("# {{ ansible_managed }}\n")
    (playbook / "managed.yml").write_text(
        "- hosts: localhost\n  gather_facts: no\n  tasks:\n"
        f"    - template: {{src: managed.j2, dest: {playbook}/managed}}\n"
    )
    refused = run(playbook, "managed.yml")
    assert refused.returncode and not (playbook / "managed").exists()
    assert "set a variable ansible_managed" in refused.stdout + refused.stderr
