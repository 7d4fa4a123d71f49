"""Rights: EC2 is asked to try what is still to be made, without making it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import specification
from playrunner.cloud.preflight_findings import Finding, problem, unknown
from playrunner.cloud.resource import Refused
from playrunner.modules.aws._preflight.planned import PlannedResources
from playrunner.modules.aws._preflight.seen import ObservedAccount

if TYPE_CHECKING:
    from playrunner.run.context import Context

_WOULD_DO = "DryRunOperation"
_DENIED = ("UnauthorizedOperation", "AccessDenied", "AccessDeniedException")
# The image that AWS keeps under this name in every region; a try needs one.
_ANY_IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


def checks(
    ctx: Context, planned: PlannedResources, seen: ObservedAccount
) -> dict[str, Callable[[], Iterable[Finding]]]:
    """A try for each kind of thing that is still to be made; the same call, with the same tags."""

    def tried(operation: str, arguments: dict[str, Any]) -> Callable[[], Iterable[Finding]]:
        return lambda: _try(ctx, operation, arguments)

    return {
        f"the right to {operation}": tried(operation, arguments)
        for operation, arguments in _tries(ctx, planned, seen)
    }


def _tries(
    ctx: Context, planned: PlannedResources, seen: ObservedAccount
) -> Iterable[tuple[str, dict[str, Any]]]:
    tags = ctx.owner.tags("preflight")
    network = planned.network
    if network and network.is_made and seen.our_networks == 0:
        yield (
            "create_vpc",
            {"CidrBlock": "10.255.0.0/16", "TagSpecifications": specification("vpc", tags)},
        )
        yield (
            "create_internet_gateway",
            {"TagSpecifications": specification("internet-gateway", tags)},
        )
        if network.nat_gateways:
            yield (
                "allocate_address",
                {"Domain": "vpc", "TagSpecifications": specification("elastic-ip", tags)},
            )
    missing = [group for group in planned.machines if seen.missing(group)]
    if missing:
        yield (
            "create_security_group",
            {
                "GroupName": "preflight",
                "Description": "preflight",
                "TagSpecifications": specification("security-group", tags),
            },
        )
        yield (
            "run_instances",
            {
                "ImageId": _ANY_IMAGE,
                "InstanceType": missing[0].type,
                "MinCount": 1,
                "MaxCount": 1,
                "TagSpecifications": specification("instance", tags),
            },
        )
    if any(group.cluster for group in missing):
        yield (
            "create_launch_template",
            {
                "LaunchTemplateName": "preflight",
                "LaunchTemplateData": {"InstanceType": missing[0].type},
                "TagSpecifications": specification("launch-template", tags),
            },
        )


def _try(ctx: Context, operation: str, arguments: dict[str, Any]) -> Iterable[Finding]:
    try:
        ctx.aws.read("ec2", operation, DryRun=True, **arguments)
    except Refused as refusal:
        right = "ec2:" + "".join(word.capitalize() for word in operation.split("_"))
        if refusal.code in _DENIED:
            who = ctx.aws.read("sts", "get_caller_identity")["Arn"]
            yield problem(
                f"{who} may not do {right}: have it allowed (docs/aws-permissions.md has the"
                " policy), or come with another aws_profile"
            )
        elif refusal.code != _WOULD_DO:
            yield unknown(f"whether {right} is allowed cannot be known: {refusal}")
