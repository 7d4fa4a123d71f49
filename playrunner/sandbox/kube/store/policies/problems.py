"""What a server refuses about a policy itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema.problems import (
    Problem,
    invalid_value,
    required,
    unsupported,
)
from playrunner.sandbox.kube.store.policies.expressions import NAMES, NotCompiled, compiled

_ACTIONS = ["Audit", "Deny", "Warn"]


def policy_problems(policy: dict[str, Any]) -> Iterator[Problem]:
    spec = policy.get("spec") or {}
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    elif not constraints.get("resourceRules"):
        yield required("spec.matchConstraints.resourceRules")
    for field in ("matchConditions", "variables", "validations"):
        for at, one in enumerate(spec.get(field) or ()):
            for name in ("expression", "messageExpression"):
                if one.get(name):
                    try:
                        compiled(one[name], NAMES)
                    except NotCompiled as error:
                        yield invalid_value(f"spec.{field}[{at}].{name}", one[name], str(error))
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        why = "validations or auditAnnotations must contain at least one item"
        yield required("spec.validations", why)
        yield required("spec.auditAnnotations", why)


def binding_problems(binding: dict[str, Any]) -> Iterator[Problem]:
    spec = binding.get("spec") or {}
    if not spec.get("policyName"):
        yield required("spec.policyName")
    if not spec.get("validationActions"):
        yield required("spec.validationActions")
    for at, action in enumerate(spec.get("validationActions") or ()):
        if action not in _ACTIONS:
            yield unsupported(f"spec.validationActions[{at}]", action, _ACTIONS)
