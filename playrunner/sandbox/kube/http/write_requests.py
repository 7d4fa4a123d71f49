"""The options and bodies of write requests."""

from __future__ import annotations

import json
from typing import Any

from playrunner.sandbox.kube.schema.problems import (
    Refusal,
    bad_request,
)
from playrunner.sandbox.kube.store.write_options import WriteOptions
from playrunner.sandbox.kube.wire.messages import Request


def write_options(
    request: Request, subresource: str = "", operation: str = "Update"
) -> WriteOptions:
    dry_run = request.option("dryRun")
    if dry_run not in ("", "All"):
        raise Refusal(
            422,
            "Invalid",
            f'invalid: dryRun: Unsupported value: "{dry_run}": supported values: "All"',
        )
    validation = request.option("fieldValidation", "Warn")
    if validation not in ("Ignore", "Warn", "Strict"):
        raise Refusal(
            422,
            "Invalid",
            f'invalid: fieldValidation: Unsupported value: "{validation}": supported values:'
            ' "Ignore", "Strict", "Warn"',
        )
    return WriteOptions(
        request.manager,
        operation,
        subresource,
        request.method == "PATCH" and operation != "Apply",
        bool(dry_run),
        validation,
        owned=operation == "Apply",
    )


def apply_document(request: Request) -> Any:
    """An apply patch is YAML, and most often JSON."""
    if request.body[:1] == b"{":
        try:
            return json.loads(request.body)
        except ValueError as error:
            raise bad_request(f"error decoding YAML: {error}") from error
    import yaml

    try:
        return yaml.safe_load(request.body)
    except yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {error}") from error
