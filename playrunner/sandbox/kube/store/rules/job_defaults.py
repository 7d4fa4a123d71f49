"""What a server fills into a Job that does not say it."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.store.rules.pod_defaults import pod_spec

Object = dict[str, Any]
_LARGEST = 2**31 - 1


def job(one: Object) -> None:
    spec = one.setdefault("spec", {})
    _job_spec(spec)


def _job_spec(spec: Object) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    per_index, policy = spec.get("backoffLimitPerIndex"), spec.get("podFailurePolicy")
    _fill(
        spec,
        parallelism=1,
        backoffLimit=6 if per_index is None else _LARGEST,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="Failed" if policy else "TerminatingOrFailed",
    )
    for rule in (policy or {}).get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            _fill(condition, status="True")
    if isinstance(spec.get("template"), dict):
        restart = (spec["template"].get("spec") or {}).get("restartPolicy")
        pod_spec(_spec_of(spec["template"]))
        if restart is None:
            # Which its rules then refuse, as a server does
            spec["template"]["spec"]["restartPolicy"] = "Always"


def cron_job(one: Object) -> None:
    spec = one.setdefault("spec", {})
    _fill(
        spec,
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    template = (spec.get("jobTemplate") or {}).get("spec", {}).get("template")
    if isinstance(template, dict):
        pod_spec(_spec_of(template))


def _spec_of(template: Object) -> Object:
    if not isinstance(template.get("spec"), dict):
        template["spec"] = {}
    spec: Object = template["spec"]
    return spec


def _fill(part: Object, **values: Any) -> None:
    for name, value in values.items():
        if part.get(name) is None:
            part[name] = value
