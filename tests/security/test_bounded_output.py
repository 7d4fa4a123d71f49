"""Much output from a host: read in time linear in its size, kept up to a limit, shown up to
another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import LIMIT_SECONDS, REPOSITORY, Stage
from tests.support.sshd import NodeSet

# The kernel counts the memory of the process that was forked towards the program's peak as well, so
# the program is started by a small process and not by pytest itself.
MEASURED = """
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as measures:
    json.dump([code, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10], measures)
"""


def play_measured(stage: Stage, playbook: str, **environment: str) -> tuple[int, float, int]:
    """Exit code, seconds that the controller computed, and the most memory that it held, in MiB."""
    measures, path = stage.folder / "measures", stage.write(playbook)
    play = [sys.executable, "-m", "invoke", "play", str(path), "--inventory", str(stage.inventory)]
    with (stage.folder / "out").open("w") as out:
        subprocess.run(
            [sys.executable, "-c", MEASURED, str(measures), *play],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "PLAYRUNNER_STATE_HOME": str(stage.state),
                "NO_COLOR": "1",
                **environment,
            },
            check=True,
            timeout=LIMIT_SECONDS,
        )
    code, seconds, mebibytes = json.loads(measures.read_text())
    return code, seconds, mebibytes


def last_of_output(stage: Stage) -> str:
    return (stage.folder / "out").read_text()[-2000:]


def test_eighty_megabytes_of_output_take_seconds(stage: Stage) -> None:
    code, seconds, mebibytes = play_measured(
        stage,
        f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{name: much, shell: "yes {"0123456789" * 10} | head -c 80000000", register: much}}
    - name: all of it
      assert:
        that:
          - much.stdout | length == 80000000
          - much.stdout_lines | length == 792080
""",
    )
    assert code == 0, last_of_output(stage)
    assert seconds < 6
    assert mebibytes < 700


def test_output_without_a_line_end_takes_seconds(stage: Stage) -> None:
    code, seconds, _ = play_measured(
        stage,
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: much, shell: "sleep 1.1; head -c 40000000 /dev/zero | tr '\\\\0' x", register: much}
    - {name: all of it, assert: {that: much.stdout | length == 40000000}}
""",
    )
    assert code == 0, last_of_output(stage)
    assert seconds < 6


def test_a_gigabyte_of_output_is_cut_and_does_not_grow_the_controller(stage: Stage) -> None:
    code, _, mebibytes = play_measured(
        stage,
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: flood, shell: "yes 0123456789 | head -c 1000000000", register: flood}
    - {name: the first of it, assert: {that: flood.stdout | length == 4194304}}
""",
        PLAYRUNNER_OUTPUT_MB="4",
        PLAYRUNNER_SHOWN_MB="1",
    )

    said = (stage.folder / "out").read_text()
    assert code == 0, said[-2000:]
    assert (
        "wrote 995805696 bytes more than the 4194304 that are kept" in said
        and "PLAYRUNNER_OUTPUT_MB" in said
    )
    assert len(said) < 4_000_000, "what is shown is limited as well"
    assert mebibytes < 300


def test_raw_output_is_cut_at_the_same_limit(stage: Stage) -> None:
    done = stage.play(
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: flood, raw: "yes 0123456789 | head -c 30000000", register: flood}
    - {name: the first of it, assert: {that: flood.stdout | length == 1048576}}
""",
        PLAYRUNNER_OUTPUT_MB="1",
    )
    assert done.code == 0, done.text[-2000:]
    assert (
        "more than the 1048576 that are kept"
        in done.result("node1", "flood")["values"]["warnings"][0]
    )


def test_a_result_that_is_too_large_to_send_fails_its_step_and_names_the_setting(
    stage: Stage, tmp_path: Path
) -> None:
    large = tmp_path / "large"
    large.write_bytes(os.urandom(3_000_000))
    done = stage.play(
        f"""
- hosts: nodes
  gather_facts: false
  tasks:
    - {{name: take, slurp: {{src: {large}}}, when: inventory_hostname == 'node1'}}
    - {{name: after, ping: }}
""",
        PLAYRUNNER_REPLY_MB="2",
    )
    assert done.code == 2, done.text[-2000:]
    assert "PLAYRUNNER_REPLY_MB" in done.result("node1", "take")["values"]["msg"]
    assert done.counts("node2")["ok"] == 1


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan"])
def test_a_limit_that_is_no_number_is_bad_input(stage: Stage, value: str) -> None:
    done = stage.play("- hosts: node1\n  tasks: [{ping: }]\n", PLAYRUNNER_SILENT_SECONDS=value)
    assert (
        done.code == 5 and "PLAYRUNNER_SILENT_SECONDS" in done.text and "Traceback" not in done.text
    )


def test_a_step_that_says_nothing_for_long_is_alive(stage: Stage) -> None:
    done = stage.play(
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: long, command: sleep 9}
""",
        PLAYRUNNER_SILENT_SECONDS="5",
    )
    assert done.code == 0, done.text


def test_numbers_that_json_does_not_know_arrive_as_texts(
    stage: Stage, nodes: NodeSet, tmp_path: Path
) -> None:
    facts = tmp_path / "facts.d"
    facts.mkdir()
    (facts / "odd.fact").write_text('{"limit": Infinity, "x": NaN}')
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{setup: {{fact_path: {facts}, gather_subset: [local]}}}}
    - {{assert: {{that: "ansible_local.odd == {{'limit': 'Infinity', 'x': 'NaN'}}"}}}}
""")
    assert done.code == 0, done.text
