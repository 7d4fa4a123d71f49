"""A token for a GKE cluster's API server, made for each call: `python -m playrunner.gke_token`.

kubectl calls it (see gcp.kubeconfig). The token is an ordinary access token of Google Cloud for
the user who is logged in, or for the service account whose key file is named; it is printed as
client-go's ExecCredential, holds for some minutes and is stored nowhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import Any


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.gke_token", description="A token for GKE clusters."
    )
    parser.add_argument(
        "--credentials-file",
        default="",
        help="a service account's key; else application-default ones",
    )
    parser.add_argument(
        "--impersonate", default="", help="the service account in whose name to work"
    )
    parser.add_argument("--endpoint-url", default="", help="instead of Google's own address")
    given = parser.parse_args(words)
    from playrunner.errors import PlayrunnerError
    from playrunner.gcp.problems import NotReached
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import GcpSettings

    settings = GcpSettings(**vars(given))
    try:
        token, until = Project(settings).token()
    except (PlayrunnerError, NotReached) as error:
        print(f"no token: {error}", file=sys.stderr)
        return 1
    print(json.dumps(credential(token, until)))
    return 0


def credential(token: str, until: datetime | None) -> dict[str, Any]:
    status = {"token": token}
    if until is not None:  # google-auth's are in UTC and do not say so
        status["expirationTimestamp"] = until.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "spec": {},
        "status": status,
    }


if __name__ == "__main__":
    sys.exit(main())
