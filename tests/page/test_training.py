"""Training in the browser, from records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from playwright.sync_api import Browser, Page, expect

from playrunner.page.records.rank_heat import RankHeat
from playrunner.page.records.rank_log import marks
from tests.support.page import PAPER_WIDTH, PageServer, no_overflow, printed, recorded_training
from tests.support.runner import invoke
from tests.support.until import until
from trainer.config import Log, Train
from trainer.loop.log_styles import line


def points(page: Page) -> int:
    return int(page.locator('[data-series="loss"] .plot').get_attribute("data-points") or 0)


def test_runs_are_listed_and_opened_with_their_curves(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/training")
    page.get_by_role("link", name="short").click()
    page.wait_for_selector('[data-series="loss"] .plot svg')
    assert points(page) == 200
    for name in ("loss", "lr", "tokens_per_second", "memory_mib", "grad_norm"):
        expect(page.locator(f'[data-series="{name}"] .plot svg').first).to_be_visible()
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


def test_phases_restarts_and_resumes_are_marked_at_their_steps(
    server: PageServer, page: Page
) -> None:
    page.goto(f"{server.base}/training/short")
    loss = page.locator('[data-series="loss"]')
    expect(loss.locator(".annotation")).to_have_text(
        ["restart", "resumed", "phase warm-up", "phase decay"]
    )
    label = loss.locator(".plot").get_attribute("aria-label") or ""
    for mark in ("restart at step 120", "resumed at step 100", "phase decay at step 50"):
        assert mark in label


@pytest.mark.parametrize("style", get_args(get_type_hints(Log)["style"]))
def test_a_restart_is_marked_at_its_step_in_every_style_of_log(tmp_path: Path, style: Any) -> None:
    """As the trainer writes its lines, not as this test thinks it does."""
    train = Train(steps=1000, log=Log(style=style))
    names = ("loss", "lr", "grad_norm", "tokens_per_second", "samples_per_second", "mean_loss")
    record: dict[str, Any] = dict.fromkeys(names, 1.0)
    record |= {"step": 42, "epoch": 0.5, "skipped": 0, "samples": 100}
    text = f"{line(train, record, 2)}\nrestart: 1 of 3 in 2 s after a failure"
    log = tmp_path / "hosts" / "zeta.log"
    log.parent.mkdir()
    log.write_text("".join(f"[0] {each}\n" for each in text.splitlines()))
    (log.parent / "alpha.log").write_text("[1] nothing of rank 0\n")
    counted = style != "cpu"  # which counts samples, not steps
    shown = 42 - (style == "fsdp") if counted else 0  # that one counts from 0
    (mark,) = marks(tmp_path, ["zeta", "alpha"])
    assert (mark["kind"], mark["step"]) == ("restart", shown)


def test_the_network_is_a_matrix_and_secrets_of_the_environment_are_hidden(
    server: PageServer, state: Path, page: Page
) -> None:
    folder = state / "training" / "runs" / "short"
    nodes = ["n1", "n2", "<b>n3</b>"]
    pairs = [
        {"a": "n1", "b": "n2", "latency_us": 12.0, "gbps": 100.0, "bytes": 1},
        {"a": "n1", "b": nodes[2], "latency_us": 90.0, "gbps": 10.0, "bytes": 1},
        {"a": "n2", "b": nodes[2], "latency_us": None, "gbps": None, "error": "closed"},
    ]
    sums = [{"bytes": 1 << 20, "seconds": 0.001, "wrong": 0, "bus_gbps": 40.0}]
    (folder / "gate.json").write_text(
        json.dumps({"nodes": nodes, "pairs": pairs, "all_reduce": sums})
    )
    (folder / "gate.txt").write_text("the table\n\nn2 and n3 cannot reach one another\n")
    variable = {"name": "NCCL_DEBUG", "value": "WARN", "reason": "quiet logs", "origin": "default"}
    secret = {**variable, "name": "HF_TOKEN", "value": "hf_very_secret", "secret": True}
    (folder / "environment.json").write_text(json.dumps([variable, secret]))
    page.goto(f"{server.base}/training/short")
    matrix = page.get_by_role("region", name="Network between nodes")
    assert [row.inner_text().split("\t") for row in matrix.locator("tbody tr").all()] == [
        ["n1", "", "100.0 Gbit/s", "10.0 Gbit/s (slow)"],
        ["n2", "12 us", "", "dead"],
        ["<b>n3</b>", "90 us (slow)", "dead", ""],
    ]
    expect(page.locator("main")).to_contain_text("n2 and n3 cannot reach one another")
    expect(page.get_by_role("region", name="All-reduce")).to_contain_text("40")
    page.locator("summary").filter(has_text="2 variables").click()
    environment = page.locator("[aria-label=Environment]")
    expect(environment.get_by_role("row").filter(has_text="NCCL_DEBUG")).to_contain_text(
        "quiet logs"
    )
    expect(environment).to_contain_text("(hidden)")
    assert "hf_very_secret" not in page.content()


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
    names = ["long", "short"]
    for name in names:
        page.get_by_label(f"compare {name}").check()
    page.get_by_role("button", name="Show on one axis").click()
    page.wait_for_selector('[data-series="loss"] .plot svg')
    assert page.locator('[data-series="loss"] .scatterlayer .trace').count() == 2
    assert page.locator('[data-series="loss"] .legendtext').all_text_contents() == names


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
    page.get_by_label("rank").select_option("all")
    page.get_by_label("words").fill("SAVING")
    page.get_by_label("words").press("Enter")
    expect(page.locator("#count")).to_contain_text("1 line,")
    expect(page.get_by_label("lines of the log")).to_contain_text("saving step 100")


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
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("dialog", lambda dialog: problems.append(dialog.message))
    tab.goto((tmp_path / "t.html").as_uri())
    tab.wait_for_selector('[data-series="loss"] .plot svg')
    assert points(tab) == 50
    expect(tab.locator("#ranks-text")).to_contain_text("rank 2 was the slowest")
    expect(tab.locator("pre.log")).to_contain_text("<script>alert(1)</script>")
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    printed(tab)
    outside = """[...document.querySelectorAll('.chart:not([hidden]) .main-svg')].filter(svg => {
        const drawn = svg.getBoundingClientRect();
        const frame = svg.closest('figure').getBoundingClientRect();
        return drawn.right > frame.right || drawn.bottom > frame.bottom || !drawn.width;
    }).length"""
    assert tab.evaluate(outside) == 0
    tab.set_viewport_size({"width": PAPER_WIDTH, "height": 1000})
    assert no_overflow(tab)
    assert tab.evaluate(outside) == 0
    assert tab.pdf(format="A4").count(b"/Type /Page\n") == 2  # with the log on the second
    expect(tab.get_by_label("smoothing")).to_be_hidden()
    tab.close()
