"""The record of a run while many hosts write to it, and after a disk was full."""

from __future__ import annotations

import json
import resource
import signal
import threading
from pathlib import Path

from playrunner.record.ledger import Ledger
from playrunner.results import Recap

HOSTS, LINES = 20, 200


def test_lines_of_many_hosts_do_not_mix(tmp_path: Path) -> None:
    ledger = Ledger("play", tmp_path)

    def write(host: str) -> None:
        for number in range(LINES):
            ledger.intend(host, f"step {number}", "host.command", "play.yaml:1")
            ledger.output(host, f"{number}\n")

    threads = [threading.Thread(target=write, args=(f"node{n}",)) for n in range(HOSTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close(Recap(), 0, 1.0)
    events = [json.loads(line) for line in _lines(ledger.folder / "events.jsonl")]
    for number in range(HOSTS):
        steps = [event["step"] for event in events if event.get("host") == f"node{number}"]
        assert steps == [f"step {each}" for each in range(LINES)]
        log = ledger.folder / "hosts" / f"node{number}.log"
        assert _lines(log) == [str(each) for each in range(LINES)]
    assert ledger.lost is None


def test_more_hosts_than_files_that_may_be_open(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limit[1]))
    try:
        ledger = Ledger("play", tmp_path)
        for round_number in range(2):
            for number in range(400):
                ledger.output(f"node{number}", f"{round_number}\n")
        ledger.close(Recap(), 0, 1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    logs = sorted((ledger.folder / "hosts").iterdir())
    assert len(logs) == 400 and all(_lines(log) == ["0", "1"] for log in logs)
    assert ledger.lost is None


def test_what_follows_a_line_that_was_cut_off_can_be_read(tmp_path: Path) -> None:
    ledger = Ledger("play", tmp_path)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (ledger.folder / "events.jsonl").stat().st_size
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limit[1]))
        ledger.event("cut off", text="x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert ledger.lost is not None
    ledger.event("next")
    ledger.close(Recap(), 0, 1.0)
    kinds = [json.loads(line)["event"] for line in _lines(ledger.folder / "events.jsonl")[2:]]
    assert kinds == ["next", "end"]


def test_a_step_that_ends_after_its_run_does_no_harm(tmp_path: Path) -> None:
    ledger = Ledger("play", tmp_path)
    ledger.output("node1", "before\n")
    ledger.close(Recap(), 0, 1.0)
    ledger.output("node1", "after\n")
    ledger.event("after")
    assert _lines(ledger.folder / "hosts" / "node1.log") == ["before"] and ledger.lost is None


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if line]
