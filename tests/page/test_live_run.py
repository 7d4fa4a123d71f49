"""A real run on two nodes: its curve moves while it trains, and the page stops it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.launch.site import PACE, Site
from tests.support.page import PageServer, recorded_training
from tests.support.runner import finish
from tests.support.until import until

PATIENCE_MS = 240_000.0
LONG = (
    "train.steps=100000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=1000",
    "train.evaluate.batches=1",
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path / "state")
    yield made
    made.invoke("sandbox.down", "--yes")


def test_a_curve_moves_while_two_nodes_train_and_stop_is_confirmed_and_recorded(
    site: Site, browser: Browser
) -> None:
    launched = site.begin("moving", "--nodes", "2", settings=LONG)
    site.await_step("moving", 5, launched)
    with PageServer(site.state, "--allow-actions", "--interval=2") as server:
        page = server.opened(browser)
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{server.base}/training/moving")
        page.wait_for_selector('[data-series="loss"] .plot svg')
        shown = "Number(document.querySelector('[data-series=loss] .plot').dataset.points)"
        before = page.evaluate(shown)
        until(
            lambda: page.evaluate(shown),
            lambda count: count > before + 3,
            240,
            what="more points",
            pause=lambda: page.wait_for_timeout(500),
        )
        expect(page.locator('[data-fact="state"]')).to_have_text("running")
        expect(page.locator("#ranks")).to_be_visible()  # ranks are compared each ten seconds
        expect(page.locator('[data-fact="time left"]')).to_contain_text("about")
        expect(page.locator('[data-fact="ends"]')).to_contain_text("20")
        matrix = page.get_by_role("region", name="Network between nodes")
        expect(matrix.locator("tbody tr")).to_have_count(2)
        page.goto(f"{server.base}/clusters")
        occupied = page.get_by_role("region", name="Nodes in use").locator("tbody tr")
        expect(occupied).to_have_count(2)
        expect(occupied.first).to_contain_text("moving")
        page.goto(f"{server.base}/training/moving")

        page.get_by_role("link", name="Stop", exact=True).click()
        expect(page.get_by_role("heading", name="train.stop")).to_be_visible()
        assert launched.poll() is None and site.processes("moving"), "a question stops nothing"
        page.get_by_role("button", name="Yes, do it").click()
        expect(page.get_by_role("heading", name="Done")).to_be_visible()
        page.get_by_role("link", name="The record of it").click()
        expect(page.get_by_role("heading", name="page: train.stop --name=moving")).to_be_visible()
        finish(launched, 120)
        assert site.processes("moving") == []
        page.goto(f"{server.base}/training/moving")
        expect(page.locator('[data-fact="state"]')).to_have_text("stopped")
        environment = page.locator("[aria-label=Environment] tbody tr")
        assert all(row.locator("td").nth(1).text_content() for row in environment.all())
        assert environment.count() > 0
        page.get_by_role("link", name="Why?").click()
        expect(page.locator("article h2").first).not_to_be_empty()
        expect(page.locator(".notice.bad")).to_have_count(0)
        page.goto(f"{server.base}/training/moving")

        def sizes() -> list[str]:
            page.reload()
            return page.locator("#checkpoints ~ table td").all_inner_texts()

        assert all(size.endswith("iB") for size in until(sizes, what="sizes of checkpoints"))
        stopped_at = max(site.losses("moving"))
        act(page, "Resume", "train.resume --name=moving --detach")
        site.await_step("moving", stopped_at + 1)
        page.goto(f"{server.base}/training/moving")
        act(page, "Scale", "train.scale --name=moving --nodes=1 --detach", nodes="1")
        job = json.loads((site.state / "training/runs/moving/run.json").read_text())
        assert len(job["nodes"]) == 1


def act(page: Page, action: str, command: str, **fields: str) -> None:
    """Ask for it, confirm it, and see that it is a run of the list."""
    page.get_by_role("link", name=action, exact=True).click()
    for name, value in fields.items():
        page.locator(f"input[name={name}]").fill(value)
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("link", name="The record of it").click()
    expect(page.get_by_role("heading", name=f"page: {command}")).to_be_visible()


def test_a_form_of_another_page_does_nothing(tmp_path: Path, browser: Browser) -> None:
    recorded_training(tmp_path, "quiet", 5)
    with PageServer(tmp_path, "--allow-actions", "--interval=0") as server:
        page = server.opened(browser)
        for headers in ({"Origin": "http://evil.example"}, {}):
            answer = page.request.post(
                f"{server.base}/training/quiet/do/stop",
                form={"form_token": "guess"},
                headers=headers,
            )
            assert answer.status == 403
        answer = page.request.get(f"{server.base}/training/quiet/do/stop")
        assert answer.status == 200 and "form_token" in answer.text()
    assert not (tmp_path / "runs").exists()
