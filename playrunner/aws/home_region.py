"""The region of the stack that a thing of IAM belongs to: IAM has none of its own, and a teardown
in another region must not take it from a cluster that runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from playrunner.aws.tags import plain
from playrunner.cloud.owner import REGION

_ISSUER = re.compile(r"oidc\.eks\.([a-z0-9-]+)\.amazonaws\.")


def home_region(raw: Mapping[str, Any]) -> str:
    """By its tag; without one, by the issuer that a provider trusts, or by where a role was last
    used. Empty when nothing tells."""
    tagged = plain(raw.get("Tags")).get(REGION, "")
    if tagged:
        return tagged
    issuer = _ISSUER.search(str(raw.get("Url") or raw.get("Arn") or ""))
    return issuer[1] if issuer else str((raw.get("RoleLastUsed") or {}).get("Region") or "")
