"""Which call is answered by whom: by us alone (ANSWERS), by moto with us around it (AROUND), else
by moto."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playrunner.sandbox.aws.api import credentials, tagging, tokens
from playrunner.sandbox.aws.api.wire import Call, Reply
from playrunner.sandbox.aws.ec2 import (
    dependencies,
    gateways,
    images,
    instances,
    load_balancers,
    offerings,
    placement,
    quotas,
)
from playrunner.sandbox.aws.eks import (
    access,
    addons,
    clusters,
    nodegroups,
    scaling_groups,
    tags,
    updates,
)
from playrunner.sandbox.aws.other import efs, fsx, iam, logs, pricing, s3, web_identity

Answer = Callable[[Call], dict[str, Any]]
Around = Callable[[Call, Callable[[], Reply]], Reply]

ANSWERS: Mapping[str, Mapping[str, Answer]] = {
    "ec2": {**placement.ANSWERS, **offerings.ANSWERS},
    "eks": {
        **clusters.ANSWERS,
        **nodegroups.ANSWERS,
        **addons.ANSWERS,
        **access.ANSWERS,
        **tags.ANSWERS,
        **updates.ANSWERS,
    },
    "efs": efs.ANSWERS,
    "fsx": fsx.ANSWERS,
    "pricing": pricing.ANSWERS,
    "resourcegroupstaggingapi": tagging.ANSWERS,
    "service-quotas": quotas.ANSWERS,
    "sts": {**credentials.ANSWERS, **web_identity.ANSWERS},
}

# Ours alone, or (CloudFormation) skipping in silence what it cannot do: a call not listed above is
# not done at all.
NOT_FROM_MOTO = (
    "eks",
    "fsx",
    "pricing",
    "resourcegroupstaggingapi",
    "service-quotas",
    "cloudformation",
)

AROUND: Mapping[str, Mapping[str, Around]] = {
    "ec2": {
        **tokens.AROUND,
        **dependencies.AROUND,
        **gateways.AROUND,
        **instances.AROUND,
        **placement.AROUND,
        **tagging.AROUND,
    },
    "autoscaling": scaling_groups.AROUND,
    "efs": efs.AROUND,
    "elb": load_balancers.AROUND,
    "elbv2": load_balancers.AROUND,
    "iam": iam.AROUND,
    "sts": iam.AROUND_STS,
    "logs": logs.AROUND,
    "s3": s3.AROUND,
    "ssm": images.AROUND,
}
