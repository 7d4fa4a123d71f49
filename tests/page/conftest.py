"""Runs that really ran, a page that shows them, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.page import PageServer, chromium, play, recorded_training

expect.set_options(timeout=60_000)  # a busy machine is no failure
HOSTILE = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
PLAYBOOK = f"""
- hosts: beside
  gather_facts: false
  tasks:
    - name: a quiet step
      command: "true"
- hosts: localhost
  gather_facts: false
  tasks:
    - name: a note
      copy: {{dest: "{{{{ folder }}}}/note", content: "hello\\n"}}
    - name: hostile words
      command:
        argv: [sh, -c, "sleep 0.7; printf '%s\\\\n' \\"$0\\"", "{HOSTILE}"]
    - name: the broken <b>step</b>
      command: sh -c "echo out of luck >&2; exit 3"
"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checked run, a failed one, and two records of training."""
    folder = tmp_path_factory.mktemp("page")
    made = folder / "state"
    playbook = folder / "site.yaml"
    playbook.write_text(PLAYBOOK)
    (folder / "inventory.yaml").write_text(
        "all: {hosts: {beside: {}, localhost: {}}, vars: {ansible_connection: local}}\n"
    )
    flags = (f"--inventory={folder / 'inventory.yaml'}", f"--extra-vars=folder={folder}")
    assert play(made, playbook, "--check", "--diff", *flags) == 0
    assert play(made, playbook, "--diff", *flags) == 2
    recorded_training(made, "long", 100_000, 100_000)
    recorded_training(made, "short", 200)
    return made


@pytest.fixture(scope="session")
def server(state: Path) -> Iterator[PageServer]:
    with PageServer(state, "--interval=0") as running:
        yield running


@pytest.fixture(scope="session")
def session(server: PageServer, browser: Browser) -> Page:
    """A browser that was let in; the link works once."""
    return server.opened(browser)


@pytest.fixture
def page(session: Page) -> Iterator[Page]:
    """A tab of it, in which no script may fail."""
    tab = session.context.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    yield tab
    tab.close()
    assert problems == []
