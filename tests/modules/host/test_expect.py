"""host.expect, with real programs that ask."""

from __future__ import annotations

from pathlib import Path

from playrunner.modules.host.expect import Expect
from tests.support.host.performing import done, failure

ASKS = """sh -c 'printf "Name? "; read a; printf "Again? "; read b; echo "got $a $b"'"""


def test_questions_are_answered_as_they_come() -> None:
    result = done(Expect(command=ASKS, responses={"Name": "ada", "Again": "eve"}))
    assert result["stdout"] == "Name? Again? got ada eve" and result["rc"] == 0


def test_a_list_is_used_up_one_by_one() -> None:
    twice = """sh -c 'for i in 1 2; do printf "Q? "; read n; echo "= $n"; done'"""
    lines = done(Expect(command=twice, responses={r"Q\\?": ["one", "two"]}))["stdout_lines"]
    assert lines == ["Q? = one", "Q? = two"]
    assert "No remaining responses" in str(failure(Expect(command=twice, responses={"Q": ["x"]})))


def test_a_program_that_asks_something_else_is_given_up() -> None:
    failed = failure(Expect(command="sleep 30", responses={"a": "b"}, timeout=1))
    assert str(failed) == "command exceeded timeout" and failed.values["rc"] is None


def test_answers_are_only_shown_on_request() -> None:
    secret = Expect(command=ASKS.replace("$a $b", "it"), responses={"Name|Again": "sesame"})
    assert "sesame" not in done(secret)["stdout"]
    shown = Expect(command=ASKS, responses={"Name|Again": "sesame"}, echo=True)
    assert done(shown)["stdout"].count("sesame") == 4


def test_creates_guards_it_and_a_failure_keeps_its_status(tmp_path: Path) -> None:
    step = Expect(command="touch made", responses={"a": "b"}, creates="made", chdir=str(tmp_path))
    assert done(step)["changed"] and not done(step)["changed"]
    assert failure(Expect(command="sh -c 'exit 3'", responses={"a": "b"})).values["rc"] == 3
    assert "not found" in str(failure(Expect(command="no-such-program", responses={"a": "b"})))
