"""Training in the browser, from records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from playrunner.page.records.rank_heat import RankHeat
from tests.support.page import PageServer, recorded_training
from tests.support.runner import invoke
from tests.support.until import until


def points(page: Page) -> int:
    return int(page.locator('[data-series="loss"] .plot').get_attribute("data-points") or 0)


def test_runs_are_listed_and_opened_with_their_curves(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/training")
    page.get_by_role("link", name="short").click()
    page.wait_for_selector('[data-series="loss"] .plot svg')
    assert points(page) == 200
    expect(page.locator('[data-fact="state"]')).to_have_text("finished")
    expect(page.locator('[data-fact="cost"]')).to_have_text("$12.00")


def test_a_hundred_thousand_points_are_thinned_by_the_server(
    server: PageServer, page: Page
) -> None:
    page.goto(f"{server.base}/training/long")
    page.wait_for_selector('[data-series="loss"] .plot svg')
    assert 500 <= points(page) <= 1000


def test_ranks_are_a_heat_strip_that_names_the_slow_one(server: PageServer, page: Page) -> None:
    for name, comparisons in (("short", 20), ("long", 200)):
        page.goto(f"{server.base}/training/{name}")
        page.wait_for_selector("#ranks .plot .heatmaplayer image")
        expect(page.locator("#ranks-text")).to_contain_text("rank 2 was the slowest in")
        label = page.locator("#ranks .plot").get_attribute("aria-label") or ""
        number = int(label.partition(" ranks in ")[2].partition(" comparisons")[0])
        assert "seconds per step of 4 ranks" in label and comparisons / 2 <= number <= comparisons


def test_figures_of_ranks_that_a_host_invented_are_passed_over() -> None:
    heat = RankHeat()
    invented: list[Any] = [None, [], {"each": 1}, {"each": 0, "seconds": [1, 2]}]
    for ranks in invented:
        heat.add(1, ranks)
    for seconds in ([1, "<b>"], [1, float("nan")], [1, -1], [True, 1], [0.1] * 5000):
        heat.add(1, {"each": 1, "seconds": seconds})
    assert heat.as_data() is None
    for step in range(5000):
        heat.add(step, {"each": 8, "seconds": [0.1] * 500 + [0.5]})
    data = heat.as_data()
    assert data is not None and len(data["steps"]) <= 200 and len(data["rows"]) <= 128
    assert data["rows"][-1] == "4000-4031" and data["seconds"][-1][0] == 0.5


def test_several_runs_are_on_one_axis(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/training")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Show on one axis").click()
    page.wait_for_selector('[data-series="loss"] .plot svg')
    assert page.locator('[data-series="loss"] .scatterlayer .trace').count() == 2


def test_smoothing_and_log_scale_change_the_curve(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/training/short")
    page.wait_for_selector('[data-series="loss"] .plot svg')
    page.get_by_label("smoothing").fill("0.9")
    expect(page.locator('[data-series="loss"] .scatterlayer .trace')).to_have_count(2)
    before = page.locator('[data-series="loss"] .ytick').all_inner_texts()
    page.get_by_label("log scale").check()
    until(
        lambda: page.locator('[data-series="loss"] .ytick').all_inner_texts(),
        lambda ticks: ticks != before,
        what="other ticks",
        pause=lambda: page.wait_for_timeout(100),
    )


def test_logs_are_searched_by_rank(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/training/short")
    page.locator("select[name=rank]").select_option("1")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_label("lines of the log")).to_contain_text("hello from rank one")
    expect(page.get_by_label("lines of the log")).not_to_contain_text("saving")


def test_points_that_are_recorded_meanwhile_appear(
    server: PageServer, state: Path, page: Page
) -> None:
    folder = recorded_training(state, "growing", 5)
    page.goto(f"{server.base}/training/growing")
    page.wait_for_selector('[data-series="loss"] .plot svg')
    assert points(page) == 5
    with (folder / "metrics.jsonl").open("a") as file:
        for step in (6, 7, 8):
            file.write(json.dumps({"step": step, "loss": 1.5, "time": 1_790_000_000 + step}) + "\n")
    expect(page.locator('[data-series="loss"] .plot')).to_have_attribute("data-points", "8")
    expect(page.locator('[data-fact="step"]')).to_have_text("8 of 1,000")


def test_a_report_opens_from_disk_with_its_curves(
    state: Path, tmp_path: Path, browser: Browser
) -> None:
    hostile = recorded_training(tmp_path / "own", "<script>x", 50)
    (hostile / "hosts" / "node1.log").write_text("[0] </pre><script>alert(1)</script>\n")
    done = invoke("train.report", "--to", tmp_path / "t.html", state=tmp_path / "own")
    assert done.code == 0
    tab = browser.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("dialog", lambda dialog: problems.append(dialog.message))
    tab.goto((tmp_path / "t.html").as_uri())
    tab.wait_for_selector('[data-series="loss"] .plot svg')
    assert points(tab) == 50
    expect(tab.locator("pre.log")).to_contain_text("<script>alert(1)</script>")
    assert problems == []
    tab.close()
