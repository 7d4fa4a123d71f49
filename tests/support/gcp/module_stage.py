"""A stage for tests of Google Cloud modules: steps are played by the real runner against the
pretend Google Cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.aws.module_stage import CLUSTER, AwsStage
from tests.support.gcp.sandbox import PretendGcp

MARK = {"playrunner-cluster": CLUSTER}


class GcpStage(AwsStage):
    """Plays steps on localhost, in this process."""

    def __init__(self, gcp: PretendGcp, folder: Path) -> None:
        self.aws: Any = gcp  # what the contract counts calls at
        self.gcp, self.folder = gcp, folder
        self.variables = variables_of(gcp)


def variables_of(gcp: PretendGcp) -> dict[str, Any]:
    """What an inventory says to come there."""
    return {
        "cluster_name": CLUSTER,
        "cloud": "gcp",
        "gcp_project": gcp.up.project,
        "gcp_zone": gcp.up.zone,
        "gcp_endpoint_url": gcp.up.endpoint_url,
        "gcp_credentials_file": gcp.up.credentials_file,
    }
