"""What newer servers ask of Jobs: indexes, when a Job is done, and what the ends of pods mean."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, job, refused
from tests.support.kube.client import MERGE_PATCH, Answer

# The minor versions since which servers do so by default
INDEXED, FAILURE_POLICY, RESIZED, PER_INDEX, SUCCESS_POLICY, MANAGED = 24, 26, 27, 29, 31, 32
DONE_BY_ONE = {"rules": [{"succeededIndexes": "0"}]}
ON_EXIT = {"operator": "In", "values": [42]}


def _created(stage: ApiStage, **spec: Any) -> Answer:
    """The answer to a Job that no controller acts on: it is suspended."""
    return stage.api.call("POST", stage.group("batch/v1", "jobs"), job(suspend=True, **spec))


def _indexed(stage: ApiStage, **spec: Any) -> Answer:
    pods = {"completions": 2, "parallelism": 2}
    return _created(stage, completionMode="Indexed", **{**pods, **spec})


def _accepted(answer: Answer) -> dict[str, Any]:
    assert answer.code in (200, 201), answer.message
    spec: dict[str, Any] = answer.value["spec"]
    return spec


def _merged(stage: ApiStage, **spec: Any) -> Answer:
    path = stage.group("batch/v1", "jobs", "work")
    return stage.api.call("PATCH", path, {"spec": spec}, form=MERGE_PATCH)


def _invalid(answer: Answer, *words: str) -> None:
    refused(answer, 422, "Invalid", *words)


@behaviour("an indexed job says how many indexes it has, and there are two modes", since=INDEXED)
def _(stage: ApiStage) -> None:
    answer = _created(stage, completionMode="Indexed", parallelism=2)
    _invalid(answer, "spec.completions: Required value: when completion mode is Indexed")
    answer = _indexed(stage, parallelism=100_001)
    _invalid(answer, "spec.parallelism: Invalid value: 100001: must be less than or equal to")
    answer = _created(stage, completionMode="Sideways")
    _invalid(answer, "spec.completionMode: Unsupported value", '"NonIndexed"', '"Indexed"')
    assert _accepted(_created(stage))["completionMode"] == "NonIndexed"


@behaviour("an indexed job's pods are named by its name and their index, which must fit", since=28)
def _(stage: ApiStage) -> None:
    body = job("w" * 62, suspend=True, completionMode="Indexed", completions=1)
    _invalid(
        stage.api.call("POST", stage.group("batch/v1", "jobs"), body),
        "metadata.name: Invalid value",
        "will not able to create pod with invalid DNS label",
    )


@behaviour("an indexed job changes its size only as a whole, any other keeps it", since=RESIZED)
def _(stage: ApiStage) -> None:
    _accepted(_indexed(stage))
    _invalid(
        _merged(stage, completions=3),
        "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
    )
    assert _accepted(_merged(stage, completions=3, parallelism=3))["completions"] == 3
    _invalid(_merged(stage, completionMode="NonIndexed"), "spec.completionMode", "immutable")
    body = job("plain", suspend=True, completions=2, parallelism=2)
    stage.api.ok("POST", stage.group("batch/v1", "jobs"), body)
    answer = stage.api.call(
        "PATCH",
        stage.group("batch/v1", "jobs", "plain"),
        {"spec": {"completions": 3, "parallelism": 3}},
        form=MERGE_PATCH,
    )
    _invalid(answer, "spec.completions: Invalid value: 3: field is immutable")


@behaviour("each index may have its own number of failures, in an indexed job", since=PER_INDEX)
def _(stage: ApiStage) -> None:
    answer = _created(stage, backoffLimitPerIndex=1)
    _invalid(answer, "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion")
    answer = _indexed(stage, maxFailedIndexes=1)
    _invalid(answer, "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is")
    answer = _indexed(stage, backoffLimitPerIndex=1, maxFailedIndexes=3)
    _invalid(answer, "spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to comp")
    spec = _accepted(_indexed(stage, backoffLimitPerIndex=1, maxFailedIndexes=1))
    assert spec["backoffLimit"] == 2147483647
    _invalid(_merged(stage, backoffLimitPerIndex=2), "spec.backoffLimitPerIndex", "immutable")


@behaviour("a success policy names indexes that the job has, or a count", since=SUCCESS_POLICY)
def _(stage: ApiStage) -> None:
    answer = _created(stage, successPolicy=DONE_BY_ONE)
    _invalid(answer, "spec.successPolicy: Invalid value", "requires indexed completion mode")
    answer = _indexed(stage, successPolicy={"rules": []})
    _invalid(answer, "spec.successPolicy.rules: Required value: at least one rules must be")
    answer = _indexed(stage, successPolicy={"rules": [{}]})
    _invalid(answer, "spec.successPolicy.rules[0]: Required value: at least one of succeededCount")
    answer = _indexed(stage, successPolicy={"rules": [{"succeededCount": 3}]})
    _invalid(answer, "rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2")
    answer = _indexed(stage, successPolicy={"rules": [{"succeededIndexes": "0-5"}]})
    _invalid(answer, "rules[0].succeededIndexes: Invalid value", "error parsing succeededIndexes")
    both = {"succeededIndexes": "0", "succeededCount": 2}
    answer = _indexed(stage, successPolicy={"rules": [both]})
    _invalid(answer, "rules[0].succeededCount: Invalid value: 2: must be less than or equal to 1")
    assert _accepted(_indexed(stage, successPolicy=DONE_BY_ONE))["successPolicy"] == DONE_BY_ONE
    answer = _merged(stage, successPolicy={"rules": [{"succeededCount": 1}]})
    _invalid(answer, "spec.successPolicy: Invalid value", "field is immutable")


@behaviour("a failure policy is for pods that are not restarted in place", since=FAILURE_POLICY)
def _(stage: ApiStage) -> None:
    rule = {"action": "FailJob", "onExitCodes": ON_EXIT}
    body = job(suspend=True, podFailurePolicy={"rules": [rule]})
    body["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    answer = stage.api.call("POST", stage.group("batch/v1", "jobs"), body)
    _invalid(answer, "spec.template.spec.restartPolicy", 'only "Never" is supported when podFail')
    for wrong, words in (
        ({"onExitCodes": ON_EXIT}, ".action: Required value"),
        ({**rule, "action": "Shrug"}, '.action: Unsupported value: "Shrug"'),
        ({"action": "FailJob"}, "specifying one of OnExitCodes and OnPodConditions is required"),
        ({**rule, "onExitCodes": {**ON_EXIT, "values": [0]}}, "must not be 0 for the In operator"),
        ({**rule, "onExitCodes": {**ON_EXIT, "values": [3, 2]}}, "must be ordered"),
        ({**rule, "onExitCodes": {**ON_EXIT, "values": [2, 2]}}, "values[1]: Duplicate value: 2"),
        ({**rule, "onExitCodes": {**ON_EXIT, "containerName": "x"}}, "must be one of the containe"),
    ):
        answer = _created(stage, podFailurePolicy={"rules": [wrong]})
        _invalid(answer, "spec.podFailurePolicy.rules[0]", words)
    disrupted = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = _accepted(_created(stage, podFailurePolicy={"rules": [disrupted, rule]}))
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"
    answer = _merged(stage, podFailurePolicy=None)
    _invalid(answer, "spec.podFailurePolicy: Invalid value", "field is immutable")


@behaviour("with a failure policy only a failed pod is replaced", since=PER_INDEX)
def _(stage: ApiStage) -> None:
    policy = {"rules": [{"action": "FailJob", "onExitCodes": ON_EXIT}]}
    answer = _created(stage, podReplacementPolicy="TerminatingOrFailed", podFailurePolicy=policy)
    _invalid(answer, "spec.podReplacementPolicy: Unsupported value", 'supported values: "Failed"')
    answer = _created(stage, podReplacementPolicy="Never")
    _invalid(answer, "spec.podReplacementPolicy: Unsupported value", '"TerminatingOrFailed"')
    assert _accepted(_created(stage, podFailurePolicy=policy))["podReplacementPolicy"] == "Failed"


@behaviour("who manages a job is said once, as a path in a domain", since=MANAGED)
def _(stage: ApiStage) -> None:
    _invalid(_created(stage, managedBy="me"), "spec.managedBy: Invalid value", "domain-prefixed")
    _accepted(_created(stage, managedBy="example.com/me"))
    _invalid(_merged(stage, managedBy="example.com/you"), "spec.managedBy", "field is immutable")


@behaviour("a suspended job that never began may be placed elsewhere, and nothing more", since=27)
def _(stage: ApiStage) -> None:
    _accepted(_created(stage))
    placed = {
        "metadata": {"annotations": {"example.com/queue": "a"}},
        "spec": {"nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}]},
    }
    template = _accepted(_merged(stage, template=placed))["template"]
    assert template["spec"]["nodeSelector"] == {"zone": "a"}
    priority = {"spec": {"priorityClassName": "high"}}
    _invalid(_merged(stage, template=priority), "spec.template", "field is immutable")
