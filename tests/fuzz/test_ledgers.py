"""Any text as the record of a run: what cannot be read is passed over."""

from __future__ import annotations

import json

from playrunner.errors import PlayrunnerError
from playrunner.record.past_runs import events, runs
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

LINES = [
    {"event": "run", "at": 1700000000.5, "command": "play x.yaml"},
    {"event": "intend", "host": "n1", "step": "s", "at": 1.0},
    {
        "event": "result",
        "host": "n1",
        "step": "s",
        "status": "changed",
        "diff": {"before": None, "after": {"a": [1]}},
    },
]
RECAP = {"code": 0, "hosts": {"n1": {"ok": 1, "changed": 2, "failed": 0}}, "seconds": 1.5}
SEEDS = ["\n".join(map(json.dumps, [*LINES, RECAP])), json.dumps(RECAP), "5\n", "[]\n"]


@fuzzed("ledgers", SEEDS, (PlayrunnerError,), structured=False)
def test_any_record_of_a_run_is_read(text: str) -> None:
    folder = scratch("state") / "runs" / "20240101-000000-abcdef"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.jsonl").write_bytes(as_bytes(text))
    (folder / "recap.json").write_bytes(as_bytes(text.rpartition("\n")[2]))
    assert len(runs(folder.parents[1])) == 1
    assert all(isinstance(event, dict) for event in events(folder))
