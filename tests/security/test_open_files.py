"""Too few files may be open."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.support.security.broken import (
    Here,
    here,  # noqa: F401
    is_one_line,
)

# Open files.


def test_the_soft_limit_on_open_files_is_raised_as_far_as_a_run_needs(tmp_path: Path) -> None:
    here = Here(tmp_path, hosts=60)
    ended = here.shell(f"ulimit -Sn 64; {here.play} --json")
    assert ended.code == 0 and ended.err == "", ended.err
    assert all(ended.counts(f"h{number}")["ok"] == 2 for number in range(60))


def test_where_few_files_may_be_open_fewer_hosts_are_worked_on_at_once(tmp_path: Path) -> None:
    here = Here(tmp_path, hosts=60)
    ended = here.shell(f"ulimit -n 64; {here.play} --json")
    assert (
        ended.code == 0
        and ended.err.startswith("note: running 2 hosts at a time")
        and ended.err.count("\n") == 1
    ), ended.err
    assert all(ended.counts(f"h{number}")["ok"] == 2 for number in range(60))


def test_where_no_host_can_be_reached_with_the_files_allowed_the_remedy_is_said(here: Here) -> None:
    ended = here.shell(f"ulimit -n 40; {here.play}")
    assert ended.code == 5 and is_one_line(ended.err) and "ulimit -n" in ended.err
    assert not here.done.exists()


def test_hosts_that_find_no_file_left_are_unreachable_in_one_line_each(tmp_path: Path) -> None:
    """Hosts that a playbook adds later were not counted when room was made."""
    here = Here(tmp_path)
    here.write("""
- hosts: all
  gather_facts: false
  tasks:
    - name: add
      add_host: {name: "x{{ item }}", groups: more, ansible_connection: local}
      loop: "{{ range(40) | list }}"
- hosts: more
  gather_facts: false
  strategy: linear
  tasks:
    - {name: first, command: echo}
    - {name: second, command: echo}
""")
    ended = here.shell(f"ulimit -n 64; {here.play} --forks 40")
    assert ended.code in (2, 4) and "Traceback" not in ended.text, ended.text
    assert "too many open files on this machine" in ended.out


def test_the_limit_is_left_alone_where_it_suffices() -> None:
    from playrunner.ssh.open_files import make_room

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert make_room(hosts=2, forks=32) == 32
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
