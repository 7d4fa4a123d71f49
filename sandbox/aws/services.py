"""Which call is answered by whom: by us alone (ANSWERS), by moto with us around it (AROUND), else by moto."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.aws import (
    credentials,
    ec2_dependencies,
    ec2_gateways,
    ec2_instances,
    ec2_offerings,
    ec2_placement,
    efs,
    eks_access,
    eks_addons,
    eks_clusters,
    eks_nodegroups,
    eks_tags,
    eks_updates,
    fsx,
    iam,
    images,
    load_balancers,
    logs,
    pricing,
    quotas,
    s3,
    tagging,
    tokens,
    web_identity,
)
from sandbox.aws.wire import Call, Reply

Answer = Callable[[Call], dict[str, Any]]
Around = Callable[[Call, Callable[[], Reply]], Reply]

ANSWERS: Mapping[str, Mapping[str, Answer]] = {
    "ec2": {**ec2_placement.ANSWERS, **ec2_offerings.ANSWERS},
    "eks": {
        **eks_clusters.ANSWERS,
        **eks_nodegroups.ANSWERS,
        **eks_addons.ANSWERS,
        **eks_access.ANSWERS,
        **eks_tags.ANSWERS,
        **eks_updates.ANSWERS,
    },
    "efs": efs.ANSWERS,
    "fsx": fsx.ANSWERS,
    "pricing": pricing.ANSWERS,
    "resourcegroupstaggingapi": tagging.ANSWERS,
    "service-quotas": quotas.ANSWERS,
    "sts": {**credentials.ANSWERS, **web_identity.ANSWERS},
}

# Ours alone, or (CloudFormation) skipping in silence what it cannot do: a call not listed above is not done at all.
NOT_FROM_MOTO = ("eks", "fsx", "pricing", "resourcegroupstaggingapi", "service-quotas", "cloudformation")

AROUND: Mapping[str, Mapping[str, Around]] = {
    "ec2": {
        **tokens.AROUND,
        **ec2_dependencies.AROUND,
        **ec2_gateways.AROUND,
        **ec2_instances.AROUND,
        **ec2_placement.AROUND,
        **tagging.AROUND,
    },
    "efs": efs.AROUND,
    "elb": load_balancers.AROUND,
    "elbv2": load_balancers.AROUND,
    "iam": iam.AROUND,
    "sts": iam.AROUND_STS,
    "logs": logs.AROUND,
    "s3": s3.AROUND,
    "ssm": images.AROUND,
}
