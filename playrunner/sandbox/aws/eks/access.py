"""Who may do what in an EKS cluster: access entries with their policies, and pod identity
associations."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.ec2 import network
from playrunner.sandbox.aws.eks.find import find, find_active

ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
POLICIES = (
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
    "AmazonEKSAdminViewPolicy",
)


def admit(call: Call, cluster: str, principal: str, kind: str, **more: Any) -> dict[str, Any]:
    """Make the access entry of a principal."""
    now = datetime.now(UTC)
    entry = {
        "clusterName": cluster,
        "principalArn": principal,
        "kubernetesGroups": more.get("groups") or (["system:nodes"] if kind == "EC2_LINUX" else []),
        "accessEntryArn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:access-entry/{cluster}/{uuid.uuid4()}"
        ),
        "createdAt": now,
        "modifiedAt": now,
        "tags": more.get("tags") or {},
        "username": more.get("username") or principal,
        "type": kind,
    }
    call.region.access_entries[cluster, principal] = entry
    return entry


def create_access_entry(call: Call) -> dict[str, Any]:
    cluster, params = find_active(call), call.params
    if "API" not in cluster["accessConfig"]["authenticationMode"]:
        said = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]."
        raise AwsError("InvalidRequestException", said, clusterName=cluster["name"])
    key = cluster["name"], params["principalArn"]
    if key in call.region.access_entries:
        raise AwsError(
            "ResourceInUseException",
            "The specified access entry resource is already in use on this cluster.",
            409,
        )
    entry = admit(
        call,
        *key,
        params.get("type") or "STANDARD",
        groups=params.get("kubernetesGroups"),
        tags=params.get("tags"),
        username=params.get("username"),
    )
    return {"accessEntry": entry}


def describe_access_entry(call: Call) -> dict[str, Any]:
    return {"accessEntry": _entry(call)}


def update_access_entry(call: Call) -> dict[str, Any]:
    entry, params = _entry(call), call.params
    changes = {
        key: params[key] for key in ("kubernetesGroups", "username") if params.get(key) is not None
    }
    entry.update(changes, modifiedAt=datetime.now(UTC))
    return {"accessEntry": entry}


def list_access_entries(call: Call) -> dict[str, Any]:
    name = find(call)["name"]
    return page(
        [principal for owner, principal in call.region.access_entries if owner == name],
        call.params,
        "accessEntries",
    )


def delete_access_entry(call: Call) -> dict[str, Any]:
    entry = _entry(call)
    key = entry["clusterName"], entry["principalArn"]
    del call.region.access_entries[key]
    call.region.access_policies.pop(key, None)
    return {}


def associate_access_policy(call: Call) -> dict[str, Any]:
    entry, params = _entry(call), call.params
    if params["policyArn"].rpartition("/")[2] not in POLICIES:
        raise AwsError(
            "InvalidParameterException",
            f"The policyArn parameter format is not valid: {params['policyArn']}",
        )
    scope = {"type": "cluster", "namespaces": [], **params["accessScope"]}
    call.region.access_policies[entry["clusterName"], entry["principalArn"]][
        params["policyArn"]
    ] = scope
    return {
        "clusterName": entry["clusterName"],
        "principalArn": entry["principalArn"],
        "associatedAccessPolicy": {"policyArn": params["policyArn"], "accessScope": scope},
    }


def disassociate_access_policy(call: Call) -> dict[str, Any]:
    entry = _entry(call)
    call.region.access_policies[entry["clusterName"], entry["principalArn"]].pop(
        call.params["policyArn"], None
    )
    return {}


def list_associated_access_policies(call: Call) -> dict[str, Any]:
    entry = _entry(call)
    found = call.region.access_policies[entry["clusterName"], entry["principalArn"]]
    listing = [{"policyArn": arn, "accessScope": scope} for arn, scope in found.items()]
    return {
        "clusterName": entry["clusterName"],
        "principalArn": entry["principalArn"],
        **page(listing, call.params, "associatedAccessPolicies"),
    }


def create_pod_identity_association(call: Call) -> dict[str, Any]:
    cluster, params = find_active(call), call.params
    same = [
        one
        for one in call.region.pod_identities.values()
        if (one["clusterName"], one["namespace"], one["serviceAccount"])
        == (cluster["name"], params["namespace"], params["serviceAccount"])
    ]
    if same:
        raise AwsError(
            "ResourceInUseException", f"Association already exists: {same[0]['associationId']}", 409
        )
    network.find_role(
        params["roleArn"], "pods.eks.amazonaws.com", "InvalidParameterException", "role"
    )
    now, number = datetime.now(UTC), f"a-{uuid.uuid4().hex[:17]}"
    association = {
        "clusterName": cluster["name"],
        "namespace": params["namespace"],
        "serviceAccount": params["serviceAccount"],
        "roleArn": params["roleArn"],
        "associationArn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:podidentityassociation/{cluster['name']}/{number}"
        ),
        "associationId": number,
        "tags": params.get("tags") or {},
        "createdAt": now,
        "modifiedAt": now,
    }
    call.region.pod_identities[number] = association
    return {"association": association}


def describe_pod_identity_association(call: Call) -> dict[str, Any]:
    return {"association": _association(call)}


def update_pod_identity_association(call: Call) -> dict[str, Any]:
    association = _association(call)
    association.update(
        {
            "roleArn": call.params.get("roleArn") or association["roleArn"],
            "modifiedAt": datetime.now(UTC),
        }
    )
    return {"association": association}


def list_pod_identity_associations(call: Call) -> dict[str, Any]:
    name, params = find(call)["name"], call.params
    associations = [
        one
        for one in call.region.pod_identities.values()
        if one["clusterName"] == name
        and params.get("namespace") in (None, one["namespace"])
        and params.get("serviceAccount") in (None, one["serviceAccount"])
    ]
    return page(associations, params, "associations")


def delete_pod_identity_association(call: Call) -> dict[str, Any]:
    association = _association(call)
    del call.region.pod_identities[association["associationId"]]
    return {"association": association}


def _entry(call: Call) -> dict[str, Any]:
    entry = call.region.access_entries.get((find(call)["name"], call.params["principalArn"]))
    if entry is None:
        raise AwsError(
            "ResourceNotFoundException",
            "The specified principalArn could not be found. You can view your available access "
            "entries with 'ListAccessEntries'.",
            404,
        )
    return entry


def _association(call: Call) -> dict[str, Any]:
    association = call.region.pod_identities.get(call.params["associationId"])
    if association is None or association["clusterName"] != find(call)["name"]:
        raise AwsError(
            "ResourceNotFoundException",
            f"No association found with ID: {call.params['associationId']}",
            404,
        )
    return association


ANSWERS = {
    "CreateAccessEntry": create_access_entry,
    "DescribeAccessEntry": describe_access_entry,
    "UpdateAccessEntry": update_access_entry,
    "ListAccessEntries": list_access_entries,
    "DeleteAccessEntry": delete_access_entry,
    "AssociateAccessPolicy": associate_access_policy,
    "DisassociateAccessPolicy": disassociate_access_policy,
    "ListAssociatedAccessPolicies": list_associated_access_policies,
    "CreatePodIdentityAssociation": create_pod_identity_association,
    "DescribePodIdentityAssociation": describe_pod_identity_association,
    "UpdatePodIdentityAssociation": update_pod_identity_association,
    "ListPodIdentityAssociations": list_pod_identity_associations,
    "DeletePodIdentityAssociation": delete_pod_identity_association,
}
