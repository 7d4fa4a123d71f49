"""Runs of playbooks in the browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import HOSTILE
from tests.support.page import PAPER_WIDTH, PageServer, no_overflow, printed, recorded_training
from tests.support.runner import invoke


def test_runs_are_listed_filtered_and_opened(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/runs")
    expect(page.locator("#count")).to_have_text("2 runs")
    page.get_by_label("state").select_option("failed")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#count")).to_have_text("1 run of 2")
    page.get_by_role("link", name="site.yaml").click()
    expect(page.get_by_role("heading", name="1 failure")).to_be_visible()
    failure = page.locator(".failure")
    expect(failure).to_contain_text("out of luck")
    expect(failure).to_contain_text("site.yaml:")


def test_runs_are_found_by_words_of_their_command_or_id(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/runs")
    for words, count in ((newest_failed(server.state), "1 run of 2"), ("PLAY site.yaml", "2 runs")):
        page.get_by_label("words").fill(words)
        page.get_by_label("words").press("Enter")
        expect(page.locator("#count")).to_have_text(count)
    page.goto(f"{server.base}/runs?q=nothing-like-it")
    expect(page.locator("main")).to_contain_text("No run matches")


def test_a_timeline_shows_what_was_sent_ahead_waited_for_and_slow(
    server: PageServer, page: Page
) -> None:
    open_failed_run(server, page)
    lanes = page.locator(".lane")
    # The host that failed first, although the other one came before it
    assert lanes.locator(".lane-name").all_inner_texts() == ["localhost", "beside"]
    failed = lanes.first
    texts = failed.locator(".bar title").all_text_contents()
    assert any("hostile words" in text and text.endswith("slow)") for text in texts), texts
    assert any("queued" in text and "sent ahead" in text for text in texts), texts
    assert failed.locator(".bar.slow").count() == 1 and failed.locator(".queued").count() >= 1
    assert "failed" in (failed.locator("svg").get_attribute("aria-label") or "")
    page.get_by_role("link", name="the broken").click()
    expect(page.locator(".facts")).to_contain_text("sent ahead")


def test_a_run_begins_with_its_failures_and_then_its_recap(server: PageServer, page: Page) -> None:
    open_failed_run(server, page)
    titles = page.locator("h2").all_inner_texts()
    assert titles == ["1 failure", "Timeline", "Steps"]
    recap = page.get_by_role("region", name="Recap by host")
    row = recap.get_by_role("row").filter(has_text="localhost")
    numbers = dict(
        zip(
            recap.get_by_role("columnheader").all_inner_texts(),
            row.locator("th, td").all_inner_texts(),
            strict=True,
        )
    )
    assert numbers["changed"] == "2" and numbers["failed"] == "1", numbers


def test_what_a_host_wrote_is_shown_as_text(server: PageServer, page: Page) -> None:
    open_failed_run(server, page)
    expect(page.locator(".failure h3")).to_contain_text("the broken <b>step</b>")
    page.get_by_role("link", name="hostile words").click()
    expect(page.get_by_label("output")).to_contain_text(HOSTILE)
    assert page.title().startswith("hostile words")
    assert page.locator("main img, main script").count() == 0


def test_a_step_shows_its_diff_file_and_line(server: PageServer, page: Page) -> None:
    open_failed_run(server, page)
    page.get_by_role("link", name="a note").click()
    expect(page.get_by_label("diff")).to_contain_text("+hello")
    expect(page.locator("main")).to_contain_text("site.yaml:10")


def test_a_checked_run_says_what_would_change(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/runs?state=check")
    page.get_by_role("link", name="site.yaml").click()
    page.get_by_role("link", name="What would change").click()
    expect(page.get_by_label("diff").first).to_contain_text("+hello")


def test_two_runs_are_compared(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/runs")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare two").click()
    row = page.get_by_role("row").filter(has_text="the broken")
    expect(row).to_contain_text("unknown")
    expect(row).to_contain_text("failed")


def test_steps_are_filtered_by_words_and_status(server: PageServer, page: Page) -> None:
    open_failed_run(server, page)
    page.get_by_label("words").fill("hostile")
    page.get_by_label("words").press("Enter")
    expect(page.locator("#count")).to_have_text("1 result of 4")
    page.get_by_label("words").fill("")
    page.get_by_label("status").select_option("failed")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#count")).to_have_text("1 result of 4")
    expect(page.get_by_role("region", name="Steps").last).to_contain_text("the broken")


def test_a_run_is_reached_with_the_keyboard_alone(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/runs")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('td.command') !== null"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Steps")).to_be_visible()


@pytest.mark.parametrize("path", ["/runs", "/training", "/training/long", "/clusters", "RUN"])
def test_at_400_pixels_nothing_overflows(server: PageServer, page: Page, path: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    if path == "RUN":
        open_failed_run(server, page)
    else:
        page.goto(server.base + path)
        if path == "/training/long":
            page.wait_for_selector(".plot svg")
    assert no_overflow(page)


@pytest.mark.parametrize("path", ["/training/long", "RUN"])
def test_at_4k_text_is_large_enough_and_lines_are_not_too_long(
    server: PageServer, page: Page, path: str
) -> None:
    page.set_viewport_size({"width": 3840, "height": 2160})
    if path == "RUN":
        open_failed_run(server, page)
    else:
        page.goto(server.base + path)
        page.wait_for_selector('[data-series="grad_norm"] .plot svg')
        widths = page.evaluate(
            "[...document.querySelectorAll('.chart:not([hidden]) .main-svg')]"
            ".map(each => each.clientWidth / each.closest('.plot').clientWidth)"
        )
        assert min(widths) > 0.95  # drawn for the room there is
    size, line = page.evaluate(
        "[parseFloat(getComputedStyle(document.body).fontSize),"
        " document.querySelector('main').clientWidth]"
    )
    assert size >= 18 and 1800 <= line <= 130 * size
    assert no_overflow(page)


def test_dark_is_dark_and_light_is_light(server: PageServer, page: Page) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(f"{server.base}/runs")
        grounds.append(brightness(page))
    assert grounds[0] > 700 and grounds[1] < 100


def test_every_control_and_chart_has_a_name(server: PageServer, page: Page) -> None:
    run, step = f"/runs/{newest_failed(server.state)}", "/steps/1"
    compared = "/training/compare?run=short&run=long"
    for path in ("/runs", run, run + step, "/training", "/training/short", compared, "/clusters"):
        page.goto(server.base + path)
        unnamed = page.evaluate(
            """[...document.querySelectorAll(
                'input:not([type=hidden]), select, button, [role=img], [role=region], nav, pre')]
            .filter(each => !each.closest('label') && !each.getAttribute('aria-label')
                            && (each.tagName !== 'BUTTON' || !each.textContent.trim()))
            .map(each => each.outerHTML)"""
        )
        assert unnamed == []


def test_a_report_opens_from_disk_and_runs_no_hostile_script(
    state: Path, tmp_path: Path, browser: Browser
) -> None:
    run = newest_failed(state)
    done = invoke("runs.report", run, "--to", tmp_path / "run.html", "--json", state=state)
    assert done.code == 0 and done.data["file"] == str(tmp_path / "run.html")
    tab = browser.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tmp_path / "run.html").as_uri())
    expect(tab.get_by_role("heading", name="1 failure")).to_be_visible()
    tab.locator("summary").filter(has_text="hostile words").click()
    expect(tab.locator("details[open] .output").first).to_contain_text(HOSTILE)
    assert "taken" not in tab.title()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    tab.set_viewport_size({"width": 400, "height": 800})
    assert no_overflow(tab)
    printed(tab)
    tab.set_viewport_size({"width": PAPER_WIDTH, "height": 1000})
    assert no_overflow(tab)
    assert brightness(tab) > 700
    folded = tab.locator("details:not([open])").filter(has_text="a note")
    assert (folded.locator(".diff").bounding_box() or {"height": 0})["height"] > 10
    tab.close()


def test_a_report_of_a_run_that_is_not_there_is_refused_in_one_line(
    state: Path, tmp_path: Path
) -> None:
    done = invoke("runs.report", "19990101", "--to", tmp_path / "x.html", state=state)
    assert done.code == 5 and len(done.err.splitlines()) == 1
    recorded_training(tmp_path, "here", 3)
    done = invoke("train.report", "elsewhere", state=tmp_path)
    assert done.code == 5 and len(done.err.splitlines()) == 1


def brightness(page: Page) -> int:
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))


def open_failed_run(server: PageServer, page: Page) -> None:
    page.goto(f"{server.base}/runs/{newest_failed(server.state)}")


def newest_failed(state: Path) -> str:
    for folder in sorted((state / "runs").iterdir(), reverse=True):
        recap = folder / "recap.json"
        if (
            not folder.is_symlink()
            and recap.exists()
            and json.loads(recap.read_text())["exit_code"]
        ):
            return folder.name
    raise AssertionError("no failed run")
