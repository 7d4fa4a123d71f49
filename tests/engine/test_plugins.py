"""Modules and plugins written for Ansible, beside a playbook: what the runner adds around them.

That they do what they do with Ansible is in tests/differential (plugins-of-the-author,
collection-beside-a-playbook).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import LIMIT_SECONDS, REPOSITORY, Outcome, Stage, beside

MODULE = """
from ansible.module_utils.basic import AnsibleModule
import os, time
spec = dict(sleep=dict(type='float', default=0), text=dict())
module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
print('noise of a library')
open(os.environ['PIDS'], 'a').write('%d\\n' % os.getpid()) if 'PIDS' in os.environ else None
time.sleep(module.params['sleep'])
text, home = module.params['text'], os.path.expanduser('~')
module.exit_json(changed=False, text=text, pid=os.getpid(), home=home)
"""


def _without_ansible(stage: Stage, playbook: str) -> Outcome:
    """The command where ansible-core is not installed."""
    hidden = (
        "import sys; sys.modules['ansible'] = None;"
        " from playrunner.commands.program import main; main()"
    )
    words = ["play", str(stage.write(playbook)), "--inventory", str(stage.inventory)]
    done = subprocess.run(
        [sys.executable, "-c", hidden, *words],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


def _runs(pid: str) -> bool:
    """An ended process stays in the table until its parent asks for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_module_that_takes_too_long_is_ended_and_the_next_one_runs(stage: Stage) -> None:
    beside(stage, "library/waits.py", MODULE)
    pids = stage.folder / "pids"
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  environment: {{PIDS: "{pids}"}}
  tasks:
    - {{name: slow, waits: {{sleep: 60}}, timeout: 2, ignore_errors: true}}
    - {{name: next, waits: {{text: here}}}}
""")
    assert done.code == 0, done.text
    slow, following = done.result("node1", "slow"), done.result("node1", "next")
    assert "Timed out after 2 seconds" in slow["values"]["msg"]
    assert following["values"]["text"] == "here"
    assert not _runs(pids.read_text().split()[0])


def test_a_module_runs_in_the_background_with_async(stage: Stage) -> None:
    beside(stage, "library/waits.py", MODULE)
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: before, waits: {text: a}}
    - {name: background, waits: {sleep: 1, text: b}, async: 30, poll: 1}
    - {name: after, waits: {text: c}}
""")
    assert done.code == 0, done.text
    steps = ("before", "background", "after")
    texts = [done.result("node1", step)["values"]["text"] for step in steps]
    assert texts == ["a", "b", "c"]


def test_a_background_step_has_its_files_and_says_why_it_failed(stage: Stage) -> None:
    failing = MODULE.replace(
        "print('noise", "module.fail_json(msg='no room', sizes=[1])\nprint('noise"
    )
    beside(stage, "library/refuses.py", failing)
    beside(stage, "files/sent", "hello\n" * 100)
    home = stage.folder / "home"
    home.mkdir()
    done = stage.play(
        f"""
- hosts: localhost
  gather_facts: false
  tasks:
    - {{name: refuses, refuses: {{}}, async: 20, poll: 1, ignore_errors: true}}
    - {{name: sends, copy: {{src: sent, dest: "{home}/sent"}}, async: 20, poll: 1}}
""",
        HOME=str(home),
    )
    assert done.code == 0, done.text
    failed = done.result("localhost", "refuses")["values"]
    assert (failed["msg"], failed["sizes"], failed["finished"]) == ("no room", [1], True)
    assert (home / "sent").read_text() == "hello\n" * 100


def test_code_kept_on_a_host_is_used_again_and_a_damaged_copy_is_not(stage: Stage) -> None:
    beside(stage, "library/waits.py", MODULE)
    home = stage.folder / "home"
    home.mkdir()
    play = """
- hosts: localhost
  gather_facts: false
  tasks:
    - {name: asks, waits: {text: hello}}
"""
    first = stage.play(play, HOME=str(home))
    assert first.code == 0, first.text
    kept = home / ".playrunner/modules"
    files = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert files
    assert stage.play(play, HOME=str(home)).code == 0
    assert files == {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    for path in kept.iterdir():
        path.write_bytes(b"damaged")
    again = stage.play(play, HOME=str(home))
    assert again.result("localhost", "asks")["values"]["text"] == "hello", again.text


def test_check_leaves_no_code_on_a_host(stage: Stage) -> None:
    beside(stage, "library/waits.py", MODULE)
    home = stage.folder / "home"
    home.mkdir()
    play = "- {hosts: localhost, gather_facts: false, tasks: [{waits: {text: x}}]}"
    done = stage.play(play, "--check", HOME=str(home))
    assert done.code == 0, done.text
    assert not (home / ".playrunner").exists()


def test_without_ansible_core_one_line_names_the_extra_before_a_host_is_touched(
    stage: Stage,
) -> None:
    beside(stage, "library/waits.py", MODULE)
    filtered = "{{ [1] | community.general.counter }}"
    looked_up = "{{ lookup('community.general.passwordstore', 'x') }}"
    tasks = {
        "waits": "{waits: {}}",
        "community.general.ini_file": "{community.general.ini_file: {}}",
        "community.general.counter": f'{{debug: {{msg: "{filtered}"}}}}',
        "community.general.passwordstore": f'{{debug: {{msg: "{looked_up}"}}}}',
    }
    for name, task in tasks.items():
        done = _without_ansible(stage, f"- {{hosts: nodes, tasks: [{task}]}}")
        assert done.code == 5, done.text
        assert name in done.err and "pip install 'playrunner[ansible]'" in done.err, done.text
        assert len(done.err.strip().splitlines()) == 1, done.err


def test_a_program_of_any_language_needs_no_ansible_core(stage: Stage) -> None:
    beside(stage, "library/plain.sh", "#!/bin/sh\n# WANT_JSON\necho '{\"changed\": true}'\n")
    done = _without_ansible(stage, "- {hosts: node1, gather_facts: false, tasks: [{plain: {}}]}")
    assert done.code == 0, done.text
    assert "changed=1" in done.out


def test_a_collection_that_is_not_installed_is_named(stage: Stage) -> None:
    done = stage.play("- {hosts: nodes, tasks: [{no.such.thing: {}}]}", as_json=False)
    assert done.code == 5
    assert "the collection no.such is not installed" in done.err
    assert "ansible-galaxy collection install no.such" in done.err


def test_a_plugin_that_cannot_be_loaded_is_named_with_its_file(stage: Stage) -> None:
    broken = beside(stage, "filter_plugins/broken.py", "raise RuntimeError('not today')\n")
    done = stage.play('- {hosts: nodes, tasks: [{debug: {msg: "{{ 1 | twice }}"}}]}', as_json=False)
    assert done.code == 5
    assert f"{broken} cannot be loaded: not today" in done.err
    assert "Traceback" not in done.text


def test_a_plugin_that_cannot_be_loaded_takes_nothing_from_those_who_do_not_use_it(
    stage: Stage,
) -> None:
    broken = beside(stage, "filter_plugins/broken.py", "import no_such_package\n")
    beside(
        stage,
        "filter_plugins/sound.py",
        "class FilterModule:\n    def filters(self): return {'twice': lambda value: value * 2}\n",
    )
    done = stage.play(
        '- {hosts: node1, gather_facts: false, tasks: [{debug: {msg: "{{ 21 | twice }}"}}]}',
        as_json=False,
    )
    assert done.code == 0 and "42" in done.out, done.text
    (warning,) = done.err.strip().splitlines()
    assert warning.startswith(f"warning: {broken} cannot be loaded: No module named"), done.err


def _other_pythons() -> list[str]:
    """Interpreters of other versions than ours, which cannot run what ours compiled."""
    found = {f"3.{minor}": shutil.which(f"python3.{minor}") for minor in range(9, 15)}
    for path in Path.home().glob(".pyenv/versions/3.*/bin/python3"):
        found.setdefault(".".join(path.parts[-3].split(".")[:2]), None)
        found[".".join(path.parts[-3].split(".")[:2])] = str(path)
    own = f"3.{sys.version_info[1]}"
    supported = [f"3.{minor}" for minor in range(9, 15)]
    return [path for version in supported if version != own and (path := found.get(version))]


def test_a_host_with_another_version_of_python_gets_the_source(stage: Stage) -> None:
    others = _other_pythons()
    if not others:
        pytest.skip("no other version of Python is installed")
    beside(stage, "library/waits.py", MODULE)
    for python in (others[0], others[-1]):
        done = stage.play(
            "- {hosts: node1, gather_facts: false, tasks: [{name: asks, waits: {text: hello}}]}",
            "--extra-vars",
            f"ansible_python_interpreter={python}",
        )
        assert done.code == 0, done.text
        assert done.result("node1", "asks")["values"]["text"] == "hello"
