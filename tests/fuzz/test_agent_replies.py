"""Any bytes as an agent's reply: a checked reply whose change can be shown, or
InvalidReply."""

from __future__ import annotations

import json
import time

from playrunner.output.ansible_diff import ansible_diff
from playrunner.ssh import limits, replies
from playrunner.text.diffs import diff_lines
from tests.support.fuzz.surface import as_bytes, fuzzed

SEEDS = [
    json.dumps(frame)
    for frame in (
        {
            "id": 1,
            "result": {
                "changed": True,
                "rc": 0,
                "stdout": "x",
                "stdout_lines": ["x"],
                "warnings": ["w"],
            },
            "seconds": 0.5,
        },
        {
            "id": 1,
            "result": {
                "failed": True,
                "msg": "no",
                "exception": "t",
                "ansible_facts": {"a": {"b": [1]}},
            },
            "seconds": 1,
        },
        {
            "id": 1,
            "result": {"changed": False},
            "seconds": 0.1,
            "body": 5,
            "parts": [["stdout", 5, True]],
        },
        {
            "id": 1,
            "result": {
                "changed": True,
                "rc": 0,
                "diff": [
                    {"before": "a\n", "after": "b\n", "before_header": "x", "after_header": "y"},
                    {"before": {"mode": "0644"}, "after": {"mode": "0600"}},
                    {"prepared": "+ line"},
                ],
            },
        },
        {
            "id": 1,
            "result": {"changed": True, "rc": 0, "diff": {"before": None, "after": {"a": "b"}}},
        },
        {"id": 1, "out": "text"},
        {"id": 1, "need": "0" * 64},
        {"id": 1, "passed": True},
        {"id": 1, "alive": True},
    )
]


@fuzzed("agent_replies", SEEDS, (replies.InvalidReply,))
def test_any_reply_of_an_agent_is_checked_or_refused(text: str) -> None:
    waiting = replies.Outstanding(limits.limits())
    waiting.add(replies.SentRequest(1, 0, {"args": {}}, {"rc": int}, time.monotonic()))
    frame = replies.parsed(as_bytes(text).partition(b"\n")[0])
    size = replies.body_size(frame, limits.limits())
    reply = replies.checked(frame, b"a" * min(size, 1000))
    waiting.accept(reply)
    if diff := reply.values.get("diff"):
        for line in (*diff_lines(diff), *ansible_diff(diff, reply.values)):
            assert isinstance(line, str)
