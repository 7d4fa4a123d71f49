"""aws.preflight with a plan of choice."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, Run

GPU = {"name": "gpu", "instance_types": ["g4dn.xlarge"], "desired_size": 2, "disk_gib": 73}


def preflight(stage: AwsStage, **wish: Any) -> Run:
    return stage.play([{"name": "preflight", "aws.preflight": wish}])
