"""Admission reviews: the request an API server asks of a webhook, and the answers to it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object


@dataclass(frozen=True)
class ReviewRequest:
    """One request to the API, before it is done."""

    operation: str  # CREATE, UPDATE, DELETE
    object: Object  # as it would be; for a removal, as it is
    before: Object
    name: str

    @staticmethod
    def of(review: Object) -> ReviewRequest:
        request = review["request"]
        before = request.get("oldObject") or {}
        return ReviewRequest(
            request["operation"], request.get("object") or before, before, request.get("name") or ""
        )


@dataclass(frozen=True)
class ReviewAnswer:
    """Refused with a reason, or let through, perhaps with fields added: by path, as /spec/queue."""

    why_not: str = ""
    added: tuple[tuple[str, Any], ...] = ()
    code: int = 400


def response_of(review: Object, answer: ReviewAnswer) -> Object:
    response: dict[str, Any] = {"uid": review["request"]["uid"], "allowed": not answer.why_not}
    if answer.why_not:
        response["status"] = {"message": answer.why_not, "code": answer.code, "status": "Failure"}
        response["status"] |= {"reason": "Forbidden"} if answer.code == 403 else {}
    elif answer.added:
        patch = [{"op": "add", "path": path, "value": value} for path, value in answer.added]
        response |= {
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
