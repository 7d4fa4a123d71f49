"""What --check cannot foresee is unknown, also where it decides or sets something."""

from __future__ import annotations

from tests.support.runner import Stage

PLAY = """
- hosts: nodes
  gather_facts: false
  vars: {chosen: earlier}
  tasks:
    - {name: asked, command: echo later, register: asked}
    - {name: set, set_fact: {chosen: "{{ asked.stdout }}"}}
    - {name: shown, debug: {msg: "{{ chosen }}"}}
    - {name: demanded, assert: {that: chosen == 'later'}}
    - {name: left, meta: end_play, when: chosen == 'earlier'}
    - {name: gone, meta: end_host, when: asked.stdout == 'earlier'}
    - {name: after, debug: {msg: here}}
    - {name: set again, set_fact: {chosen: known}}
    - {name: known, assert: {that: chosen == 'known'}}
"""


def test_a_check_goes_on_where_only_the_run_can_tell(stage: Stage) -> None:
    checked = stage.play(PLAY, "--check")
    assert checked.code == 0, checked.text
    statuses = {each["step"]: each["status"] for each in checked.data["results"]}
    unknown = ("asked", "set", "shown", "demanded", "left", "gone")
    assert {step for step, status in statuses.items() if status == "unknown"} == set(unknown)
    assert statuses["after"] == statuses["known"] == "ok"
    assert "earlier" not in str(checked.result("node1", "shown")["values"])

    played = stage.play(PLAY)
    assert played.code == 0, played.text
    assert played.result("node1", "shown")["values"]["msg"] == "later"
    assert played.result("node1", "after")["status"] == "ok"
