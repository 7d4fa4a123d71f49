"""A token for an EKS cluster's API server, made for each call: `python -m playrunner.eks_token
--cluster NAME --region R`.

kubectl calls it (see aws.kubeconfig). The token is a signed question to STS, "who am I?", which EKS
asks in the caller's name; it is printed as client-go's ExecCredential, holds for some minutes and
is stored nowhere.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from playrunner.cloud.extras import packages_of
from playrunner.errors import BadInput

SIGNED_SECONDS = 60  # EKS takes the signature for a quarter of an hour, whatever it says
HOLDS = timedelta(
    minutes=14
)  # a minute less than EKS does, so that none is used in its last moment


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.eks_token", description="A token for an EKS cluster."
    )
    parser.add_argument("--cluster", required=True, help="the cluster's name")
    parser.add_argument("--region", required=True, help="the cluster's region")
    parser.add_argument("--profile", default=None, help="the AWS profile to use")
    parser.add_argument("--credentials-file", default="", help="instead of ~/.aws/credentials")
    given = parser.parse_args(words)
    # botocore is boto3's inner half, and quicker to load.
    try:
        with packages_of("aws", "a token for EKS needs boto3"):
            from botocore.exceptions import BotoCoreError
            from botocore.session import Session
    except BadInput as error:
        print(error, file=sys.stderr)
        return error.exit_code
    try:
        session = Session(profile=given.profile)
        if given.credentials_file:
            session.set_config_variable("credentials_file", given.credentials_file)
        made = token(session, given.cluster, given.region)
    except BotoCoreError as error:
        print(
            f"no token for {given.cluster}: {error}; log in to AWS, or set AWS_PROFILE",
            file=sys.stderr,
        )
        return 1
    print(json.dumps(credential(made, datetime.now(UTC))))
    return 0


def token(session: Any, cluster: str, region: str) -> str:
    """A presigned GetCallerIdentity that is good for this cluster only."""
    from botocore.exceptions import NoCredentialsError
    from botocore.signers import RequestSigner

    client, credentials = (
        session.create_client("sts", region_name=region),
        session.get_credentials(),
    )
    if credentials is None:
        raise NoCredentialsError
    signer = RequestSigner(
        client.meta.service_model.service_id,
        region,
        "sts",
        "v4",
        credentials,
        session.get_component("event_emitter"),
    )
    request = {
        "method": "GET",
        "url": (
            f"{client.meta.endpoint_url.rstrip('/')}/?Action=GetCallerIdentity&Version=2011-06-15"
        ),
        "body": {},
        "headers": {"x-k8s-aws-id": cluster},
        "context": {},
    }
    url = signer.generate_presigned_url(
        request, operation_name="", expires_in=SIGNED_SECONDS, region_name=region
    )
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def credential(made: str, now: datetime) -> dict[str, Any]:
    status = {"expirationTimestamp": (now + HOLDS).strftime("%Y-%m-%dT%H:%M:%SZ"), "token": made}
    return {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "spec": {},
        "status": status,
    }


if __name__ == "__main__":
    sys.exit(main())
