"""Whose value of a variable wins, what is refused, and how it is shown: never a secret."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import BadInput
from playrunner.training.environment.compiler import as_json, compile_environment, show_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.variable import Variable
from tests.support.launch.environment import OLD_PLUGIN, P4D, SANDBOX, TRN1, compiled, refused


def test_every_variable_says_why_and_from_where() -> None:
    for machines in (SANDBOX, OLD_PLUGIN, TRN1):
        assert all(each.reason and each.origin for each in compile_environment({}, machines, {}))


# Who overrules whom


def test_the_profile_beats_the_default_and_the_inventory_beats_the_profile() -> None:
    profile = {"launch": {"environment": {"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "3"}}}
    origins = {"NCCL_DEBUG": "inventory group_vars/gpu.yaml:12"}
    found = {
        each.name: each
        for each in compile_environment(
            profile, P4D, {"NCCL_DEBUG": "TRACE"}, origins.__getitem__, profile_name="llama2-7b"
        )
    }
    threads, debug = found["OMP_NUM_THREADS"], found["NCCL_DEBUG"]
    assert (threads.value, threads.origin) == ("3", "profile llama2-7b: launch.environment")
    assert threads.reason == "asked for; beats '12' from cores and processes"
    assert (debug.value, debug.origin) == ("TRACE", "inventory group_vars/gpu.yaml:12")
    assert "beats 'WARN' from profile llama2-7b: launch.environment" in debug.reason
    assert [each.value for each in debug.beaten] == ["WARN", "INFO"]


def test_asking_for_the_same_value_beats_nobody() -> None:
    found = compiled(P4D, {"PYTHONUNBUFFERED": "1"})["PYTHONUNBUFFERED"]
    assert found.reason == "asked for; as default has it"
    assert found.origin == "inventory: train_environment"


def test_a_setting_is_overruled_under_its_other_name_too() -> None:
    found = compiled(P4D, {"NCCL_ASYNC_ERROR_HANDLING": "0"})
    assert "TORCH_NCCL_ASYNC_ERROR_HANDLING" not in found
    assert "beats TORCH_NCCL_ASYNC_ERROR_HANDLING='1'" in found["NCCL_ASYNC_ERROR_HANDLING"].reason
    assert conflicting_settings(found.values(), P4D) == []


def test_variables_come_sorted_by_name() -> None:
    names = [each.name for each in compile_environment({}, P4D, {"AAA": "1", "ZZZ": "2"})]
    assert names == sorted(names)
    assert (names[0], names[-1]) == ("AAA", "ZZZ")


def test_numbers_become_text() -> None:
    assert compiled(SANDBOX, {"OMP_NUM_THREADS": 1})["OMP_NUM_THREADS"].value == "1"  # type: ignore[dict-item]


@pytest.mark.parametrize("name", ["export A", "A=1", "", "1A"])
def test_a_name_no_program_could_read_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(BadInput, match=r"^hosts.yaml:4: .*cannot be a variable's name"):
        compile_environment({}, SANDBOX, {name: "1"}, lambda _: "hosts.yaml:4")


@pytest.mark.parametrize("value", [True, None, ["a"], "two\nlines"])
def test_a_value_that_is_not_one_line_of_text_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="train_environment: HF_HOME"):
        compile_environment({}, SANDBOX, {"HF_HOME": value})


# Secrets


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "MY_PASSWORD",
        "hf_token",
        "WANDB_APIKEY",
        "AWS_ACCESS_KEY_ID",
    ],
)
def test_a_secret_is_never_shown(name: str) -> None:
    found = compile_environment(
        {"launch": {"environment": {name: "hunter1"}}}, SANDBOX, {name: "hunter2"}
    )
    (variable,) = [each for each in found if each.name == name]
    assert variable.secret
    assert variable.value == "hunter2"
    shown = [
        show_environment(found),
        show_environment(found, name),
        repr(found),
        str(as_json(found)),
        variable.reason,
    ]
    assert not [text for text in shown if "hunter" in text]
    assert "(hidden)" in shown[0]


@pytest.mark.parametrize(
    "name", ["TOKENIZERS_PARALLELISM", "PYTHONUNBUFFERED", "KEYBOARD", "NCCL_DEBUG"]
)
def test_other_variables_are_no_secrets(name: str) -> None:
    assert not Variable(name, "1", "", "").secret


def test_a_password_inside_an_address_is_a_secret() -> None:
    assert Variable("HTTPS_PROXY", "http://me:pw@proxy:3128", "", "").secret
    assert not Variable("HTTPS_PROXY", "http://proxy:3128", "", "").secret


# Showing


def test_the_table_has_a_line_per_variable() -> None:
    found = compile_environment({}, P4D, {})
    lines = show_environment(found).splitlines()
    assert len(lines) == len(found) + 1
    assert any(
        line.split()[:2] == ["OMP_NUM_THREADS", "12"] and "96 cores shared by 8" in line
        for line in lines
    )


def test_why_tells_everything_about_one_variable() -> None:
    found = compile_environment({}, P4D, {"OMP_NUM_THREADS": "2"})
    assert show_environment(found, "OMP_NUM_THREADS").splitlines() == [
        "OMP_NUM_THREADS=2",
        "  why   asked for; beats '12' from cores and processes",
        "  from  inventory: train_environment",
        "  else  '12' from cores and processes: 96 cores shared by 8 processes",
    ]


@pytest.mark.parametrize("name", ["OMP_NUM_THREAD", "omp_num_threads"])
def test_why_of_an_unknown_name_offers_the_nearest(name: str) -> None:
    with pytest.raises(BadInput, match='did you mean "OMP_NUM_THREADS"'):
        show_environment(compile_environment({}, SANDBOX, {}), name)


def test_json_carries_the_same_facts() -> None:
    (found,) = [
        each
        for each in as_json(compile_environment({}, P4D, {"OMP_NUM_THREADS": "2"}))
        if each["name"] == "OMP_NUM_THREADS"
    ]
    assert (found["value"], found["origin"], found["secret"]) == (
        "2",
        "inventory: train_environment",
        False,
    )
    assert found["beaten"][0]["value"] == "12"


# What is refused, and what looks like it but is fine


@pytest.mark.parametrize(
    "name",
    [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "PET_NNODES",
    ],
)
def test_a_process_is_told_its_place_by_the_launcher_alone(name: str) -> None:
    (sentence,) = refused(SANDBOX, **{name: "1"})
    assert sentence.startswith(f"{name}=1 (inventory: train_environment) is set by the launcher")
    assert "Remove it" in sentence
