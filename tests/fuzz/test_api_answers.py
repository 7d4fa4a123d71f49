"""Any bytes as an answer of a Kubernetes API: a checked value, or one line that says what came
instead."""

from __future__ import annotations

import json

from playrunner.errors import HostUnreachable
from playrunner.kube.client import answers
from tests.support.fuzz.surface import as_bytes, fuzzed

META = {
    "name": "n",
    "namespace": "d",
    "uid": "u",
    "resourceVersion": "1",
    "labels": {"a": "b"},
    "ownerReferences": [{"kind": "Job"}],
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": META,
    "spec": {"containers": [{"name": "c", "image": "i"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
SEEDS = [
    json.dumps(value)
    for value in (
        POD,
        {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "1"},
            "items": [POD],
        },
        {"type": "ADDED", "object": POD},
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404},
        {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get"]}]},
        {"groups": [{"name": "apps", "versions": [{"groupVersion": "apps/v1"}]}]},
    )
] + ["<html></html>", "", "null", "[]"]


@fuzzed("api_answers", SEEDS, (HostUnreachable,))
def test_any_answer_of_an_api_is_checked_or_refused(text: str) -> None:
    data, refused = as_bytes(text), None
    for attempt in (
        lambda: answers.mapping(data, "s"),
        lambda: answers.event(data, "Pod", "v1", "s"),
        lambda: answers.items(answers.mapping(data, "s"), "Pod", "v1", "s"),
        lambda: answers.served(answers.mapping(data, "s"), "s"),
        lambda: answers.groups(answers.mapping(data, "s"), "s"),
    ):
        try:
            attempt()
        except HostUnreachable as error:
            refused = error
    if refused:
        raise refused
