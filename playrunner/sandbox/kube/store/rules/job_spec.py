"""What a server refuses about Jobs: their indexes, when they count as done, what the ends of their
pods mean, and what of them may change."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema.names import is_label, is_subdomain
from playrunner.sandbox.kube.schema.problems import (
    Problem,
    duplicate,
    invalid_value,
    required,
    shown,
    unsupported,
)
from playrunner.sandbox.kube.store.rules.pod_rules import pod_spec_problems

Object = dict[str, Any]
_INDEXED_MODE = "requires indexed completion mode"
_MOST_PODS = 100_000  # of an indexed Job at once
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"]
_OPERATORS = ["In", "NotIn"]
_REPLACEMENTS = ["Failed", "TerminatingOrFailed"]
_INDEXES = re.compile(r"\d+(-\d+)?")


def job_problems(job: Object) -> Iterator[Problem]:
    spec = job["spec"]
    yield from job_spec_problems(spec, "spec")
    if spec.get("completionMode") == "Indexed" and spec.get("completions"):
        longest = f"{job['metadata']['name']}-{spec['completions'] - 1}"
        if not is_label(longest):
            why = f"will not able to create pod with invalid DNS label: {longest}"
            yield invalid_value("metadata.name", job["metadata"]["name"], why)


def job_spec_problems(spec: Object, path: str) -> Iterator[Problem]:
    for name in _COUNTS:
        if (spec.get(name) or 0) < 0:
            yield invalid_value(f"{path}.{name}", spec[name], "must be greater than or equal to 0")
    yield from _index_problems(spec, path)
    prefix, slash, rest = spec.get("managedBy", "a.b/c").partition("/")
    if not (slash and rest and is_subdomain(prefix)):
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid_value(f"{path}.managedBy", spec["managedBy"], why)
    if "template" not in spec:
        yield required(f"{path}.template")
        return
    yield from _failure_policy_problems(spec, path)
    if spec.get("successPolicy") is not None:
        yield from _success_policy_problems(spec, f"{path}.successPolicy")
    template = spec["template"]["spec"]
    yield from pod_spec_problems(template, f"{path}.template.spec")
    restart = f"{path}.template.spec.restartPolicy"
    if template["restartPolicy"] == "Always":
        yield required(restart, 'valid values: "OnFailure", "Never"')
    elif template["restartPolicy"] != "Never" and spec.get("podFailurePolicy"):
        why = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid_value(restart, template["restartPolicy"], why)


def job_change_problems(before: Object, after: Object) -> Iterator[Problem]:
    was, now = before["spec"], after["spec"]
    if was.get("completions") != now.get("completions"):
        if now.get("completionMode") != "Indexed":
            yield invalid_value("spec.completions", now.get("completions"), "field is immutable")
        elif now.get("completions") not in (None, now.get("parallelism")):
            why = "can only be modified in tandem with spec.parallelism"
            yield invalid_value("spec.completions", now["completions"], why)
    placeable = was.get("suspend") and not (before.get("status") or {}).get("startTime")
    if _fixed_template(was, bool(placeable)) != _fixed_template(now, bool(placeable)):
        yield invalid_value("spec.template", now.get("template"), "field is immutable")


def _fixed_template(spec: Object, placeable: bool) -> Object:
    """What must stay of the pods' template: of a Job that waits suspended for its first start, all
    but where its pods go."""
    template: Object = copy.deepcopy(spec.get("template") or {})
    if placeable:
        for name in ("labels", "annotations"):
            (template.get("metadata") or {}).pop(name, None)
        if not template.get("metadata"):
            template.pop("metadata", None)
        pod = template.get("spec") or {}
        for name in ("nodeSelector", "tolerations", "schedulingGates"):
            pod.pop(name, None)
        (pod.get("affinity") or {}).pop("nodeAffinity", None)
        if not pod.get("affinity"):
            pod.pop("affinity", None)
    return template


def _index_problems(spec: Object, path: str) -> Iterator[Problem]:
    mode, completions = spec.get("completionMode", "NonIndexed"), spec.get("completions")
    most_failed = spec.get("maxFailedIndexes")
    if most_failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if mode == "Indexed":
        if completions is None:
            yield required(f"{path}.completions", "when completion mode is Indexed")
        if spec["parallelism"] > _MOST_PODS:
            why = f"must be less than or equal to {_MOST_PODS} when completion mode is Indexed"
            yield invalid_value(f"{path}.parallelism", spec["parallelism"], why)
        if completions is not None and most_failed is not None and most_failed > completions:
            why = "must be less than or equal to completions"
            yield invalid_value(f"{path}.maxFailedIndexes", most_failed, why)
    elif mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid_value(f"{path}.{name}", spec[name], _INDEXED_MODE)
    else:
        yield unsupported(f"{path}.completionMode", mode, ["NonIndexed", "Indexed"])


def _success_policy_problems(spec: Object, path: str) -> Iterator[Problem]:
    policy, completions = spec["successPolicy"], spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed":
        yield invalid_value(path, policy, _INDEXED_MODE)
        return
    if not policy.get("rules"):
        why = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", why)
    for at, rule in enumerate(policy.get("rules") or ()):
        here, count, text = (
            f"{path}.rules[{at}]",
            rule.get("succeededCount"),
            rule.get("succeededIndexes"),
        )
        if count is None and text is None:
            yield required(
                here, "at least one of succeededCount or succeededIndexes must be specified"
            )
        named = completions
        if text is not None:
            try:
                named = _number_of_indexes(text, completions)
            except ValueError as error:
                why = f"error parsing succeededIndexes: {error}"
                yield invalid_value(f"{here}.succeededIndexes", text, why)
        most = "must be less than or equal to"
        if count is not None and count > completions:
            why = f"{most} {completions} (the number of specified completions)"
            yield invalid_value(f"{here}.succeededCount", count, why)
        if count is not None and text is not None and count > named:
            why = f"{most} {named} (the number of indexes in the specified succeededIndexes field)"
            yield invalid_value(f"{here}.succeededCount", count, why)


def _number_of_indexes(text: str, completions: int) -> int:
    """Of `0,2-4`: rising, and below the number of completions."""
    number, last = 0, -1
    for part in filter(None, text.split(",")):
        if not _INDEXES.fullmatch(part):
            raise ValueError(f'cannot convert string to integer for index: "{part}"')
        first, _, to = part.partition("-")
        low, high = int(first), int(to or first)
        if max(low, high) >= completions:
            raise ValueError(f'too large index: "{to if low < completions else first}"')
        if low <= last or (to and high <= low):
            raise ValueError(f"non-increasing order, previous: {last}, current: {low}")
        number, last = number + high - low + 1, high
    return number


def _failure_policy_problems(spec: Object, path: str) -> Iterator[Problem]:
    policy = spec.get("podFailurePolicy")
    allowed = ["Failed"] if policy else _REPLACEMENTS
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None and replacement not in allowed:
        yield unsupported(f"{path}.podReplacementPolicy", replacement, allowed)
    pod = spec["template"]["spec"]
    names = {
        container.get("name")
        for container in [*pod.get("containers", ()), *pod.get("initContainers", ())]
    }
    for at, rule in enumerate((policy or {}).get("rules") or ()):
        here = f"{path}.podFailurePolicy.rules[{at}]"
        if not rule.get("action"):
            yield required(f"{here}.action", f"valid values: {' '.join(map(shown, _ACTIONS))}")
        elif rule["action"] not in _ACTIONS:
            yield unsupported(f"{here}.action", rule["action"], _ACTIONS)
        elif rule["action"] == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            why = "requires the backoffLimitPerIndex to be set"
            yield invalid_value(f"{here}.action", rule["action"], why)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            yield from _exit_code_problems(codes, f"{here}.onExitCodes", names)
        if bool(codes) == bool(conditions):
            what = (
                "specifying both OnExitCodes and OnPodConditions is not supported"
                if codes
                else "specifying one of OnExitCodes and OnPodConditions is required"
            )
            yield Problem(here, "FieldValueInvalid", f"Invalid value: {what}")


def _exit_code_problems(codes: Object, path: str, names: set[str]) -> Iterator[Problem]:
    operator, values = codes.get("operator"), codes.get("values") or []
    if operator not in _OPERATORS:
        yield unsupported(f"{path}.operator", operator or "", _OPERATORS)
    if codes.get("containerName") is not None and codes["containerName"] not in names:
        why = "must be one of the container or initContainer names in the pod template"
        yield invalid_value(f"{path}.containerName", codes["containerName"], why)
    if not values:
        yield invalid_value(f"{path}.values", values, "at least one value is required")
    for at, value in enumerate(values):
        if operator == "In" and value == 0:
            why = "must not be 0 for the In operator"
            yield invalid_value(f"{path}.values[{at}]", value, why)
        if value in values[:at]:
            yield duplicate(f"{path}.values[{at}]", value)
    if values != sorted(values):
        yield invalid_value(f"{path}.values", values, "must be ordered")
