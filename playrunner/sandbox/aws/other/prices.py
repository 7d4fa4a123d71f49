"""A small price table, to rehearse what a plan costs: on-demand US dollars as published, not a
quote."""

from __future__ import annotations

from typing import Any

DATED = "2025-06"
SOURCE = (
    "AWS public on-demand price lists for us-east-1 and us-west-2 (equal there for everything"
    " listed), rounded"
)

INSTANCE_HOUR = {
    "t3.micro": 0.0104,
    "t3.small": 0.0208,
    "t3.medium": 0.0416,
    "t3.large": 0.0832,
    "m5.large": 0.096,
    "m5.xlarge": 0.192,
    "m5.2xlarge": 0.384,
    "c5.xlarge": 0.17,
    "c5.2xlarge": 0.34,
    "g4dn.xlarge": 0.526,
    "g4dn.2xlarge": 0.752,
    "g4dn.8xlarge": 2.176,
    "g4dn.12xlarge": 3.912,
    "g5.xlarge": 1.006,
    "g5.2xlarge": 1.212,
    "g5.12xlarge": 5.672,
    "g5.48xlarge": 16.288,
    "p4d.24xlarge": 21.9576,
    "p4de.24xlarge": 27.4471,
    "p5.48xlarge": 55.04,
    "trn1.2xlarge": 1.3438,
    "trn1.32xlarge": 21.50,
    "trn1n.32xlarge": 24.78,
    "trn2.48xlarge": 35.7608,
}
# Of the on-demand price; real spot prices move, so that a plan should not lean on this
SPOT_SHARE = 0.4

OTHER = {
    "eks.cluster.hour": 0.10,
    "eks.cluster.extended_support.hour": 0.60,
    "ec2.nat_gateway.hour": 0.045,
    "ec2.public_ipv4.hour": 0.005,
    "elb.load_balancer.hour": 0.0225,
    "ebs.gp3.gb_month": 0.08,
    "efs.standard.gb_month": 0.30,
    "fsx.lustre.scratch_2.gb_month": 0.140,
    "fsx.lustre.persistent_1.50.gb_month": 0.140,
    "fsx.lustre.persistent_1.100.gb_month": 0.190,
    "fsx.lustre.persistent_1.200.gb_month": 0.290,
    "fsx.lustre.persistent_2.125.gb_month": 0.145,
    "fsx.lustre.persistent_2.250.gb_month": 0.210,
    "fsx.lustre.persistent_2.500.gb_month": 0.340,
    "fsx.lustre.persistent_2.1000.gb_month": 0.600,
    "s3.standard.gb_month": 0.023,
    "ecr.storage.gb_month": 0.10,
    "logs.storage.gb_month": 0.03,
}


def table() -> dict[str, Any]:
    """All of it, with its date and source."""
    return {
        "currency": "USD",
        "dated": DATED,
        "source": SOURCE,
        "instance_hour": INSTANCE_HOUR,
        "spot_share": SPOT_SHARE,
        "other": OTHER,
    }
