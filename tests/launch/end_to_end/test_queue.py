"""train.launch --queue and train.queue over real nodes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support import runner
from tests.support.launch.holding import Holding
from tests.support.launch.site import PATIENCE_SECONDS, Site
from tests.support.until import until


class Waiting(Holding):
    def words(self, name: str, *words: object, nodes: int = 2) -> list[object]:
        """For the same two nodes, however many other tests have added to them."""
        return super().words(name, "--limit", "node1,node2", *words, nodes=nodes)

    def queue(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.site.invoke("train.queue", "--json").data["queue"]
        return entries

    def told(self) -> str:
        """What is written of all who wait, or did, for a test that fails."""
        folder = self.site.state / "training" / "queue"
        written = [path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".log")]
        return "\n".join(f"{path.name}: {path.read_text()}" for path in written)

    def names(self) -> list[str]:
        folder = self.site.state / "training" / "queue"
        states = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        return [each["name"] for each in states if each["state"] == "waiting"]


@pytest.fixture(scope="module")
def waiting(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Waiting:
    return Waiting(site, tmp_path_factory.mktemp("queue"))


def test_launches_wait_for_their_nodes_by_priority_and_order_and_outlive_who_typed_them(
    site: Site, waiting: Waiting
) -> None:
    first = waiting.launch("q-first", "--queue", "--detach")
    assert first.code == 0 and "number 1 in the queue" in first.err, first.text
    waiting.await_running("q-first")
    checked = waiting.launch("q-low", "--queue", "--check")
    assert "would wait in the queue for 2 nodes, as the first" in checked.err, checked.text
    typed = site.start(*waiting.words("q-low", "--queue"))
    until(lambda: waiting.names() == ["q-low"], seconds=60, what="q-low waits", process=typed)
    high = waiting.launch("q-high", "--queue", "--priority", 5, "--detach", "--json")
    assert high.data["state"] == "waiting" and high.data["position"] == 1, high.text
    again = waiting.launch("q-high", "--queue", "--detach")
    assert again.code == 0 and "nothing changed" in again.err, again.text
    dropped = waiting.launch("q-dropped", "--queue", "--detach", nodes=1)
    assert dropped.code == 0, dropped.text
    typed.kill()
    runner.finish(typed)
    listed = until(
        waiting.queue,
        lambda listed: (
            "q-first runs there" in listed[0]["waits_for"]
            and listed[1]["waits_for"] == "after q-high"
        ),
        seconds=60,
        what="the queue says what each waits for",
    )
    names = [each["name"] for each in listed]
    assert names == ["q-high", "q-low", "q-dropped"], waiting.told()
    unknown = site.invoke("train.queue", "--cancel", "q-lwo")
    assert unknown.code == 5 and 'did you mean "q-low"' in unknown.err, unknown.text
    assert site.invoke("train.queue", "--cancel", "q-dropped").code == 0
    until(lambda: not _alive(listed[2]["pid"]), seconds=30, what="nothing waits for it any more")

    waiting.end("q-first")
    waiting.await_running("q-high")
    assert not site.folder("q-low").exists(), "both want the same nodes"
    assert waiting.names() == ["q-low"], waiting.told()
    (low,) = waiting.queue()
    os.kill(low["pid"], signal.SIGKILL)
    until(lambda: not _alive(low["pid"]), seconds=30, what="its process is gone")
    shown = site.invoke("train.queue")
    assert "the process that waited for q-low had ended and is started again" in shown.err
    waiting.end("q-high")
    waiting.await_running("q-low")
    assert "no launch waits" in site.invoke("train.queue").out
    waiting.end("q-low")
    site.await_that(lambda: not site.processes("q-low"), "the end of q-low")


def test_whoever_waits_in_the_queue_sees_the_runs_end_or_its_refusal(
    site: Site, waiting: Waiting
) -> None:
    waiting.end("q-seen")
    seen = runner.finish(site.start(*waiting.words("q-seen", "--queue")), PATIENCE_SECONDS)
    assert seen.code == 0 and "q-seen is done" in seen.err, seen.text
    refused = site.invoke(
        *waiting.words("q-refused", "--queue", "--extra-vars", "train_python=/nowhere/python")
    )
    assert refused.code == 6 and "/nowhere/python cannot be run" in refused.err, refused.text
    assert waiting.queue() == [], waiting.told()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--queue", "--nodes", "3"], "batch_size 8 is not a multiple"),
        (["--priority", "3"], "give --queue too"),
        (["--queue", "--stage-only"], "leave one of them out"),
        (["--queue", "--launcher", "job"], "name it with train_queue"),
    ],
)
def test_what_cannot_wait_is_refused_at_once(site: Site, words: list[str], message: str) -> None:
    refused = site.invoke("train.launch", "--profile", "gpt2-micro-smoke", *words)
    assert refused.code == 5 and message in refused.err, refused.text


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
