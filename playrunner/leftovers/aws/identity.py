"""IAM: roles, policies, instance profiles and OIDC providers. IAM lists them without their tags, so
each is asked for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

from playrunner.aws.client import Aws
from playrunner.aws.tags import DESCRIBED
from playrunner.leftovers.aws.kind import Kind, attempt, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.aws.stacks import Stacks
from playrunner.leftovers.leftover import Leftover, ServiceResource

_GONE = ("NoSuchEntity", "NoSuchEntityException")
_OF_AWS = (
    "/aws-service-role/",
    "/aws-reserved/",
)  # paths of what AWS keeps in the account for itself
AT_ONCE = 8


class _Identity(Kind):
    service = "iam"
    is_global = True

    def described(self, aws: Aws, id: str) -> ServiceResource | None:
        """One, with its tags."""
        raise NotImplementedError

    def ids(self, aws: Aws) -> list[str]:
        raise NotImplementedError

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        return side_by_side(lambda id: self.described(aws, id), self.ids(aws))

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return self.described(aws, leftover.id)


def _may_be_ours(raw: Mapping[str, Any], stacks: Stacks) -> bool:
    """Whether a role is worth a call for its tags: roles are made with our mark in their
    description; those of earlier versions have names that begin with a cluster's."""
    names = (*stacks.names, *stacks.known_as, *stacks.kubernetes)
    return DESCRIBED in str(raw.get("Description") or "") or str(raw["RoleName"]).startswith(names)


class Role(_Identity):
    """A role; what hangs on it comes off before it goes."""

    name, arn = "IAM role", "iam:role"
    after: ClassVar[tuple[str, ...]] = (
        "EKS cluster",
        "nodegroup",
        "EKS add-on",
        "EKS pod identity",
        "instance",
        "instance profile",
    )

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        ids = [
            raw["RoleName"]
            for raw in listed(aws, "iam", "list_roles", "Roles")
            if not raw["Path"].startswith(_OF_AWS) and _may_be_ours(raw, stacks)
        ]
        return side_by_side(lambda id: self.described(aws, id), ids)

    def described(self, aws: Aws, id: str) -> ServiceResource | None:
        answer = aws.read("iam", "get_role", missing=_GONE, RoleName=id)
        return None if answer is None else thing_of(answer["Role"], id, name=id)

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        of = {"RoleName": thing.id}
        for policy in listed(
            aws, "iam", "list_attached_role_policies", "AttachedPolicies", missing=_GONE, **of
        ):
            attempt(aws, "iam", "detach_role_policy", PolicyArn=policy["PolicyArn"], **of)
        for name in listed(aws, "iam", "list_role_policies", "PolicyNames", missing=_GONE, **of):
            attempt(aws, "iam", "delete_role_policy", PolicyName=name, **of)
        for profile in listed(
            aws, "iam", "list_instance_profiles_for_role", "InstanceProfiles", missing=_GONE, **of
        ):
            attempt(
                aws,
                "iam",
                "remove_role_from_instance_profile",
                InstanceProfileName=profile["InstanceProfileName"],
                **of,
            )
        aws.call("iam", "delete_role", **of)


class InstanceProfile(_Identity):
    """What gives a machine its role."""

    name, arn = "instance profile", "iam:instance-profile"
    after: ClassVar[tuple[str, ...]] = ("nodegroup", "instance")

    def ids(self, aws: Aws) -> list[str]:
        return [
            raw["InstanceProfileName"]
            for raw in listed(aws, "iam", "list_instance_profiles", "InstanceProfiles")
        ]

    def described(self, aws: Aws, id: str) -> ServiceResource | None:
        answer = aws.read("iam", "get_instance_profile", missing=_GONE, InstanceProfileName=id)
        return None if answer is None else thing_of(answer["InstanceProfile"], id, name=id)

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        for role in thing.raw.get("Roles") or ():
            attempt(
                aws,
                "iam",
                "remove_role_from_instance_profile",
                InstanceProfileName=thing.id,
                RoleName=role["RoleName"],
            )
        aws.call("iam", "delete_instance_profile", InstanceProfileName=thing.id)


class Policy(_Identity):
    """A policy of the account's own; it is kept while it is attached to a role of others."""

    name, arn = "IAM policy", "iam:policy"
    after: ClassVar[tuple[str, ...]] = ("IAM role",)

    def ids(self, aws: Aws) -> list[str]:
        return [
            raw["Arn"] for raw in listed(aws, "iam", "list_policies", "Policies", Scope="Local")
        ]

    def described(self, aws: Aws, id: str) -> ServiceResource | None:
        answer = aws.read("iam", "get_policy", missing=_GONE, PolicyArn=id)
        return (
            None
            if answer is None
            else thing_of(answer["Policy"], id, name=answer["Policy"]["PolicyName"])
        )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        for version in listed(
            aws, "iam", "list_policy_versions", "Versions", missing=_GONE, PolicyArn=thing.id
        ):
            if not version["IsDefaultVersion"]:
                attempt(
                    aws,
                    "iam",
                    "delete_policy_version",
                    PolicyArn=thing.id,
                    VersionId=version["VersionId"],
                )
        aws.call("iam", "delete_policy", PolicyArn=thing.id)

    def holders(self, aws: Aws, thing: ServiceResource) -> str:
        entities = (
            aws.read("iam", "list_entities_for_policy", missing=_GONE, PolicyArn=thing.id) or {}
        )
        return ", ".join(
            entity[key]
            for kind, key in (
                ("PolicyRoles", "RoleName"),
                ("PolicyUsers", "UserName"),
                ("PolicyGroups", "GroupName"),
            )
            for entity in entities.get(kind) or ()
        )


class OidcProvider(_Identity):
    """IAM's trust in a cluster's tokens; it outlives the cluster."""

    name, arn = "OIDC provider", "iam:oidc-provider"
    after: ClassVar[tuple[str, ...]] = ("EKS cluster",)

    def ids(self, aws: Aws) -> list[str]:
        return [
            raw["Arn"]
            for raw in listed(
                aws, "iam", "list_open_id_connect_providers", "OpenIDConnectProviderList"
            )
        ]

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        issuers = {
            _issuer(cluster).removeprefix("https://"): name
            for name, cluster in stacks.kubernetes.items()
        }
        for thing in super().things(aws, stacks):
            cluster = issuers.get(str(thing.raw.get("Url") or "").removeprefix("https://"), "")
            stack = stacks.stack_of(cluster) if cluster else ""
            yield (
                replace(thing, stack=stack, sign=f"trusts our cluster {cluster}")
                if stack
                else thing
            )

    def described(self, aws: Aws, id: str) -> ServiceResource | None:
        answer = aws.read(
            "iam", "get_open_id_connect_provider", missing=_GONE, OpenIDConnectProviderArn=id
        )
        return None if answer is None else thing_of(answer, id, name=id.rpartition("/")[2])

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("iam", "delete_open_id_connect_provider", OpenIDConnectProviderArn=thing.id)


def _issuer(cluster: Any) -> str:
    return str(((cluster.get("identity") or {}).get("oidc") or {}).get("issuer") or "")


def side_by_side(
    described: Callable[[str], ServiceResource | None], ids: list[str]
) -> list[ServiceResource]:
    """Each one's description; those that went meanwhile are left out."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="leftovers") as pool:
        return [thing for thing in pool.map(described, ids) if thing is not None]


KINDS: tuple[type[Kind], ...] = (Role, InstanceProfile, Policy, OidcProvider)
