"""docs/gcp-permissions.md: the exact role an operator needs, from the calls that tests of all roles
and modules of Google's made.

Every such test compares its calls with the page; with PLAYRUNNER_WRITE_DOCS=1 it adds what is
missing instead. Remove the page first to write it anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "gcp-permissions.md"

# What a service checks beside the call itself: that machines may be given their account, that
# labels may be written, and that what a rule is part of may be changed.
_ASKED_BESIDES = {
    r"container\.clusters\.(create|update)": "iam.serviceAccounts.actAs",
    r"compute\.disks\.create": "compute.disks.setLabels",
    r"compute\.firewalls\.delete": "compute.networks.updatePolicy",
    r"compute\.forwardingRules\.delete": "compute.targetPools.use",
    r"storage\.buckets\.update": "storage.buckets.get",
}
_WHERE_USED = {
    "container.clusters.connect": "kubectl, and we, at the cluster's own API",
    "artifactregistry.repositories.downloadArtifacts": "images: bases, and whether one is there",
    "artifactregistry.repositories.uploadArtifacts": "images: `nccl-image.push`",
    "artifactregistry.repositories.deleteArtifacts": "images: `nccl-image.delete`",
    "iam.serviceAccounts.getAccessToken": "`gcp_impersonate` alone, on that account",
}


def check(calls: Iterable[Mapping[str, Any]]) -> None:
    """Fail when a call of ours needs what the page does not list."""
    written = (
        set(re.findall(r"^- ([\w.]+)$", PAGE.read_text(), re.MULTILINE))
        if PAGE.is_file()
        else set()
    )
    missing = needed(calls) - set(_WHERE_USED) - written
    if missing and os.environ.get("PLAYRUNNER_WRITE_DOCS"):
        PAGE.write_text(page(written | missing))
    else:
        assert not missing, f"not in docs/{PAGE.name}: {sorted(missing)}; see {Path(__file__).name}"


def needed(calls: Iterable[Mapping[str, Any]]) -> set[str]:
    """The permissions behind our own calls, and those that services ask for besides."""
    found = {
        str(call["permission"])
        for call in calls
        if "playrunner" in call["agent"] and not call["error"]
    } - {""}
    for because, also in _ASKED_BESIDES.items():
        found |= {also} if any(re.fullmatch(because, name) for name in found) else set()
    return found


def page(permissions: Iterable[str]) -> str:
    names = sorted(set(permissions) - set(_WHERE_USED))
    listed = "\n".join(f"- {name}" for name in names)
    more = "\n".join(f"| `{name}` | {why} |" for name, why in _WHERE_USED.items())
    return f"""# What an operator needs in Google Cloud

From the calls that the tests of every Google Cloud role and module made, with status, audit and
teardown; a test fails when a call is not covered. {len(names)} permissions, no basic role. As a
role of the project's own:

```
gcloud iam roles create playrunner --project PROJECT --file role.yaml
```

```yaml
title: Playrunner
stage: GA
includedPermissions:
{listed}
```

Beside them, where they are used:

| permission | for |
|---|---|
{more}

In the cluster itself, Kubernetes asks for rights to its own objects: `roles/container.admin` has
them, or a binding to `cluster-admin`.
"""
