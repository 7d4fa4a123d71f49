"""train: data for runs, before they are launched."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb
from playrunner.training.verbs.flags import JOB, LAUNCH


@verb(
    flags={**JOB, "limit": RUN_FLAGS["limit"], "set": LAUNCH["set"]},
    help={
        "profile": "stage what this profile reads",
        "dataset": "stage this data set of manifests/datasets.yaml",
        "source": (
            "s3://, gs:// or hf:// (a folder or a file), https:// (a file, or a folder with"
            " SHA256SUMS), or a folder of this machine (default: the data set's); @FILE or env:NAME"
            " for a signed address, which no command line should show"
        ),
        "into": "the folder on the claim or nodes (default: the data set's)",
        "unpack": "unpack archives instead of keeping them",
        "files": "the exact number of files expected",
        "least": "the least number of files expected: one for every process that reads",
        "bytes": "the total size expected",
        "sha256": "the SHA-256 of the source's only file",
        "anonymous": "a public bucket: send no credentials",
        "region": "the bucket's region, where it is not the cluster's",
    },
)
def stage(
    context: Any,
    flags: dict[str, Any],
    profile: str = "",
    dataset: str = "",
    source: str = "",
    into: str = "",
    unpack: bool = False,
    files: int = 0,
    least: int = 0,
    bytes: int = 0,
    sha256: str = "",
    anonymous: bool = False,
    region: str = "",
) -> int:
    """Bring data to a cluster's claim or to the nodes and verify it (idempotent)."""
    from playrunner.training.backend import stage_backend
    from playrunner.training.data.request import StageRequest, given_source

    overrides = tuple(flags.pop("set"))
    request = StageRequest(
        given_source(source),
        into,
        unpack,
        files,
        least,
        bytes,
        anonymous,
        region,
        sha256=sha256,
        profile=profile,
        dataset=dataset,
    )
    return stage_backend(options_from(flags)).stage(request, overrides)
