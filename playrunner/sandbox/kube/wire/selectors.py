"""Which objects a request means: label and field selectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playrunner.sandbox.kube.schema.problems import bad_request

Matches = Callable[[dict[str, Any]], bool]

_LABEL_TERM = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<not>[\w./-]+)|(?P<key>[\w./-]+)\s*(?:(?P<op>==|=|!=|<|>|\bnotin\b|\bin\b)\s*"
    r"(?:\((?P<set>[^)]*)\)|(?P<value>[\w.-]*)))?)\s*(?:,|$)"
)
_ANY_FIELDS = ("metadata.name", "metadata.namespace")
_FIELDS = {  # what may be selected by, beyond the name
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
}


def by_labels(text: str) -> Matches:
    """As `app=web,tier in (a, b),!old`."""
    tests: list[Callable[[dict[str, str]], bool]] = []
    at = 0
    while at < len(text):
        found = _LABEL_TERM.match(text, at)
        if found is None or found.end() == at:
            raise bad_request(f'unable to parse requirement: found "{text[at:]}"')
        tests.append(_label_test(found))
        at = found.end()
    return lambda one: all(test(one["metadata"].get("labels") or {}) for test in tests)


def by_fields(text: str, plural: str, custom: bool) -> Matches:
    """As `metadata.name=a,status.phase!=Running`."""
    known = _ANY_FIELDS + (() if custom else _FIELDS.get(plural, ()))
    tests: list[Matches] = []
    for term in filter(None, text.split(",")):
        found = re.fullmatch(r"\s*([\w.]+)\s*(==|=|!=)\s*(.*?)\s*", term)
        if found is None:
            raise bad_request(f'invalid selector: "{term}"; can\'t understand "{term}"')
        path, operator, wanted = found.groups()
        if path not in known:
            raise bad_request(
                f'Unable to find "{plural}" that match label selector "", field selector "{text}": '
                f"field label not supported: {path}"
            )
        tests.append(_field_test(path, wanted, negated=operator == "!="))
    return lambda one: all(test(one) for test in tests)


def by_selector(selector: dict[str, Any] | None) -> Matches:
    """A LabelSelector of an object's spec; None picks nothing, an empty one everything."""
    if selector is None:
        return lambda one: False
    wanted = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []

    def matches(one: dict[str, Any]) -> bool:
        labels = one.get("metadata", {}).get("labels") or {}
        return all(labels.get(key) == value for key, value in wanted.items()) and all(
            _expression_holds(labels, expression) for expression in expressions
        )

    return matches


def _expression_holds(labels: dict[str, str], expression: dict[str, Any]) -> bool:
    key, operator, values = (
        expression["key"],
        expression["operator"],
        expression.get("values") or [],
    )
    holds = {
        "In": labels.get(key) in values,
        "NotIn": key not in labels or labels[key] not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return holds.get(operator, False)


def _label_test(match: re.Match[str]) -> Callable[[dict[str, str]], bool]:
    if match["absent"]:
        return lambda labels: match["not"] not in labels
    key, operator = match["key"], match["op"]
    if operator is None:
        return lambda labels: key in labels
    if match["set"] is not None:
        values = [one.strip() for one in match["set"].split(",")]
        if operator == "notin":
            return lambda labels: labels.get(key) not in values
        return lambda labels: key in labels and labels[key] in values
    value = match["value"]
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    if operator in "<>":
        return lambda labels: _ordered(labels.get(key), value, operator)
    return lambda labels: labels.get(key) == value


def _ordered(there: str | None, bound: str, operator: str) -> bool:
    if there is None or not there.lstrip("-").isdigit() or not bound.lstrip("-").isdigit():
        return False
    return int(there) < int(bound) if operator == "<" else int(there) > int(bound)


def _field_test(path: str, wanted: str, *, negated: bool) -> Matches:
    def test(obj: dict[str, Any]) -> bool:
        value: Any = obj
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if path == "source" and isinstance(value, dict):
            value = value.get("component")
        if path == "status.successful":
            value = (obj.get("status") or {}).get("succeeded", 0)
        text = (
            str(value).lower()
            if isinstance(value, bool)
            else str(value if value is not None else "")
        )
        if path == "spec.unschedulable" and not text:
            text = "false"
        return (text != wanted) if negated else (text == wanted)

    return test
