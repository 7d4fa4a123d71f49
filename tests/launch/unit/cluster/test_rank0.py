"""Rank 0 is found by what torch's agents say, and found again after every meeting."""

from __future__ import annotations

from playrunner.training.kube.runs.follow import curve, metrics_in
from playrunner.training.kube.runs.log_tails import _Place, instance_of
from playrunner.training.kube.runs.rank0 import first_of, has_met_only, newest_rendezvous


def met(
    group_rank: int,
    master: str = "10.0.0.1",
    prefix: str = "I1115 20:05:14 3346 torch/agent/api.py:568]",
) -> list[str]:
    """What an agent says; newer ones put their prefix before each line, older ones only before the
    first."""
    return [
        "I1115 api.py:568] [default] Rendezvous complete for workers. Result:",
        f"{prefix}   restart_count=0",
        f"{prefix}   master_addr={master}",
        f"{prefix}   master_port=29500",
        f"{prefix}   group_rank={group_rank}",
        f"{prefix}   group_world_size=2",
    ]


def test_the_pod_with_group_rank_0_is_rank_0_whatever_its_number() -> None:
    assert first_of({"run-0": met(1), "run-1": met(0)}, {}) == "run-1"


def test_the_agents_of_older_torch_are_understood_too() -> None:
    assert first_of({"run-0": met(1, prefix=""), "run-1": met(0, prefix="")}, {}) == "run-1"


def test_after_they_met_again_the_newest_word_counts() -> None:
    logs = {"run-0": [*met(0), "[0] step 1", *met(1)], "run-1": [*met(1), *met(0)]}
    assert first_of(logs, {}) == "run-1"


def test_a_log_that_was_cut_off_is_made_up_for_by_the_master_s_address() -> None:
    logs = {"run-0": met(1, "10.0.0.7"), "run-1": ["[0] step 900"]}
    assert first_of(logs, {"run-0": "10.0.0.6", "run-1": "10.0.0.7"}) == "run-1"


def test_a_message_that_merely_speaks_of_rank_0_is_not_taken_for_it() -> None:
    assert (
        first_of({"run-0": ["waiting for rank 0", "rank 0 is elsewhere"]}, {"run-0": "10.0.0.1"})
        == ""
    )
    assert newest_rendezvous(["group_rank=0"]) is None


def test_ranks_are_only_starting_until_one_of_them_has_said_something_since_the_pods_met() -> None:
    assert has_met_only(met(0)) and has_met_only([*met(0), "[0] step 1", *met(1)])
    assert (
        not has_met_only([*met(0), "[0] step 1"])
        and not has_met_only(["pod: waiting"])
        and not has_met_only([])
    )


def test_metrics_are_read_from_rank_0_s_lines_alone() -> None:
    assert metrics_in('[0] metrics {"step": 3, "loss": 1.5}') == '{"step": 3, "loss": 1.5}'
    assert metrics_in('[0] metrics {"step": 3, "loss": 1.5}[0] ') == '{"step": 3, "loss": 1.5}'
    assert metrics_in('[1] metrics {"step": 3, "loss": 1.5}') == ""
    assert metrics_in("[0] step 3 loss 1.5") == ""


def test_steps_that_were_taken_again_count_as_they_were_taken_last() -> None:
    records = [
        {"step": 1, "loss": 3.0},
        {"step": 2, "loss": 2.0},
        {"step": 2, "loss": 2.5},
        {"step": 3, "loss": 1.0},
    ]
    assert [(each["step"], each["loss"]) for each in curve(records)] == [
        (1, 3.0),
        (2, 2.5),
        (3, 1.0),
    ]


def test_a_log_taken_up_again_repeats_no_line_and_loses_none() -> None:
    place = _Place()
    first = [place.new(line) for line in ("2026-01-01T00:00:01Z a", "2026-01-01T00:00:01Z b")]
    place.again()
    again = [
        place.new(line)
        for line in (
            "2026-01-01T00:00:01Z a",
            "2026-01-01T00:00:01Z b",
            "2026-01-01T00:00:01Z c",
            "2026-01-01T00:00:02Z d",
        )
    ]
    assert first == ["a", "b"]
    assert again == [None, None, "c", "d"]


def test_a_container_that_begins_again_has_another_log() -> None:
    def pod(restarts: int, **state: object) -> dict[str, object]:
        return {
            "metadata": {"name": "p", "uid": "u"},
            "status": {
                "containerStatuses": [{"name": "pytorch", "restartCount": restarts, "state": state}]
            },
        }

    assert instance_of(pod(0, waiting={"reason": "ContainerCreating"})) is None
    assert instance_of(pod(0, running={})) == ("p", "u", 0)
    assert instance_of(pod(1, waiting={"reason": "CrashLoopBackOff"})) == ("p", "u", 0)
    assert instance_of(pod(1, running={})) == ("p", "u", 1)
