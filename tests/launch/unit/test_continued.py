"""The settings of a run that is resumed."""

from __future__ import annotations

from playrunner.training.request import begins_elsewhere, continued
from playrunner.training.runs.notices import Notices, start_line

NEVER, PATH = "train.checkpoint.resume=never", "train.checkpoint.resume=/other/step-00000100"


def test_a_run_that_was_to_begin_from_nothing_resumes_from_its_own_checkpoint() -> None:
    assert continued(("train.steps=5", NEVER), True) == (
        "train.steps=5",
        "train.checkpoint.resume=auto",
    )


def test_one_without_a_checkpoint_begins_again_as_it_was_asked_to() -> None:
    assert continued((PATH,), False) == (PATH,)
    assert begins_elsewhere((NEVER, PATH)) and not begins_elsewhere((PATH, NEVER))


def test_notices_of_earlier_launches_in_the_same_log_are_not_repeated() -> None:
    notices = Notices("run-2")
    old = f"[node] 10:00:00 {start_line('run-1')}\n[0] checkpoint: resuming from step-1\n"
    assert notices.of("node1", old) == []
    new = (
        f"[node] 11:00:00 {start_line('run-2')}\n[0] step 1 loss 2\n"
        "[0] checkpoint: resuming from step-2\n[node] 11:00:09 restart: 1 of 3 in 2 s after x\n"
        "[0-1] guard: step 9: loss spike\n[0] my guard: dog\n"
    )
    assert notices.of("node1", new) == [
        "checkpoint: resuming from step-2",
        "restart: 1 of 3 in 2 s after x",
        "guard: step 9: loss spike",
    ]
    assert notices.of("node2", "[1] guard: step 9: x\n") == []


def test_lines_of_pods_need_no_start() -> None:
    assert Notices().of("pod", "[0] guard: step 3: nan") == ["guard: step 3: nan"]
