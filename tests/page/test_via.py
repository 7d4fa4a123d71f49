"""The page of another host, reached through a real sshd."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.page import PageServer, recorded_training
from tests.support.runner import REPOSITORY, invoke
from tests.support.sshd import NodeSet
from tests.support.until import until


def test_the_page_of_a_host_is_forwarded_and_ends_with_the_command(
    nodes: NodeSet, tmp_path: Path, browser: Browser
) -> None:
    there = tmp_path / "there"
    recorded_training(there, "far-away", 20)
    program = tmp_path / "home" / "bin" / "playrunner"
    program.parent.mkdir(parents=True)
    pid = tmp_path / "pid"
    program.write_text(
        f"#!/bin/sh\necho $$ > {pid}\nexport PLAYRUNNER_STATE_HOME={there}"
        f' PYTHONPATH={REPOSITORY}\nexec {sys.executable} -m playrunner "$@"\n'
    )
    program.chmod(0o755)
    inventory = nodes.inventory(tmp_path, jumphost_home=str(tmp_path / "home"))
    host = nodes[0].name
    with PageServer(tmp_path / "here", f"--inventory={inventory}", f"--via={host}") as server:
        page = server.opened(browser)
        page.goto(f"{server.base}/training")
        expect(page.get_by_role("link", name="far-away")).to_be_visible()
        page.context.close()
    until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists(), what="its end")


def test_a_host_that_the_inventory_has_not_is_refused(nodes: NodeSet, tmp_path: Path) -> None:
    inventory = nodes.inventory(tmp_path)
    done = invoke("page", f"--inventory={inventory}", "--via=nowhere", state=tmp_path)
    assert done.code == 5 and 'no host "nowhere"' in done.err
