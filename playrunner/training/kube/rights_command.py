"""kube.rights: the Role and ClusterRoles of a purpose, to be given to a user."""

from __future__ import annotations

from typing import Any

import yaml

from playrunner.errors import BadInput
from playrunner.output.json_output import print_json
from playrunner.training.kube.rights import roles

PURPOSES = ("training", "add-ons", "audit")
_NOTES = {
    "playrunner-training": "all that a training run needs, in its own namespace",
    "playrunner-training-view": (
        "optional: pods are sized by the nodes; without it, by instance_type in the inventory"
    ),
    "playrunner-quarantine": (
        "optional: for nodes.quarantine, and train_quarantine: taint or cordon"
    ),
    "playrunner-add-ons": "for the roles that install drivers, plugins and operators",
    "playrunner-audit": "reads everything that training and add-ons make, but no secrets",
}


def show_rights(purpose: str, namespace: str, user: str, as_json: bool) -> int:
    if purpose not in PURPOSES:
        raise BadInput(f'--for "{purpose}": it is {", ".join(PURPOSES)}')
    objects = given(purpose, namespace, user)
    if as_json:
        print_json({"for": purpose, "objects": objects})
        return 0
    for one in objects:
        note = _NOTES[one["metadata"]["name"]] if "rules" in one else ""
        print("---" + (f"\n# {note}" if note else ""))
        print(yaml.safe_dump(one, sort_keys=False), end="")
    return 0


def given(purpose: str, namespace: str, user: str) -> list[dict[str, Any]]:
    """The roles; with a user, also what binds them."""
    made = []
    for role in roles(purpose):
        if role["kind"] == "Role":
            role["metadata"]["namespace"] = namespace
        made.append(role)
        if user:
            made.append(_binding(role, user))
    return made


def _binding(role: dict[str, Any], user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    home, _, name = user.partition(":")
    subject = (
        {"kind": "ServiceAccount", "namespace": home, "name": name}
        if name and ":" not in name
        else {"kind": "User", "apiGroup": group, "name": user}
    )
    return {
        "apiVersion": role["apiVersion"],
        "kind": f"{role['kind']}Binding",
        "metadata": {**role["metadata"], "name": f"{role['metadata']['name']}"},
        "roleRef": {"apiGroup": group, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [subject],
    }
