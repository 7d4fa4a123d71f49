"""A change in a cloud is noted before it is asked for, and again once it is answered: what has one
note must be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.cloud.call_log import CallLog, logged_call
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.record.ledger import Ledger


class Notes(list[tuple[str, dict[str, Any]]]):
    def event(self, kind: str, **facts: Any) -> None:
        self.append((kind, facts))

    def past_token(self, subject: str, call: str, stack: str = "") -> str:
        return "token"


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (None, ["done"]),
        (Refused("no", "AccessDenied"), ["AccessDenied"]),
        (Unanswered("silence"), []),
    ],
)
def test_a_change_is_noted_before_and_after_unless_no_answer_came(
    ending: Exception | None, outcome: list[str]
) -> None:
    notes = Notes()
    try:
        with logged_call(notes, call="ec2.create_vpc", subject="vpc", token="t"):
            assert notes == [("call", {"call": "ec2.create_vpc", "subject": "vpc", "token": "t"})]
            if ending:
                raise ending
    except (Refused, Unanswered) as problem:
        assert problem is ending
    assert notes[1:] == [
        ("answer", {"call": "ec2.create_vpc", "subject": "vpc", "outcome": one}) for one in outcome
    ]


def test_what_was_asked_for_in_another_stack_is_not_waited_for(tmp_path: Path) -> None:
    earlier = CallLog(Ledger("create", tmp_path))
    with logged_call(earlier, call="ec2.create_vpc", subject="vpc", stack="one"):
        pass
    later = CallLog(Ledger("create", tmp_path))
    assert later.created_at("vpc", "one") is not None
    assert later.created_at("vpc", "two") is None


def test_a_token_without_an_answer_is_used_again_in_its_own_stack_alone(tmp_path: Path) -> None:
    facts = {"call": "ec2.create_nat_gateway", "subject": "nat gateway"}
    with (
        pytest.raises(Unanswered),
        logged_call(
            CallLog(Ledger("create", tmp_path)), **facts, stack="one@us-west-2", token="sent"
        ),
    ):
        raise Unanswered("silence")
    # What another stack's step of the same title asks for answers nothing of this one
    with logged_call(CallLog(Ledger("create", tmp_path)), **facts, stack="two@us-west-2"):
        pass
    later = CallLog(Ledger("create", tmp_path))
    for stack in ("two@us-west-2", "one@us-east-1", ""):
        assert later.past_token(facts["subject"], facts["call"], stack) == ""
    assert later.past_token(facts["subject"], facts["call"], "one@us-west-2") == "sent"
    assert later.past_token(facts["subject"], facts["call"], "one@us-west-2") == ""
