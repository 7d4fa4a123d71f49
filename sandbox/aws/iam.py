"""IAM refuses to delete a policy that is still attached; moto does not."""

from __future__ import annotations

from collections.abc import Callable

from moto.iam.models import iam_backends

from sandbox.aws.wire import AwsError, Call, Reply
from sandbox.aws.world import ACCOUNT


def delete_policy(call: Call, moto: Callable[[], Reply]) -> Reply:
    policy = iam_backends[ACCOUNT]["aws"].managed_policies.get(call.params["PolicyArn"])
    if policy is not None and policy.attachment_count:
        raise AwsError("DeleteConflict", "Cannot delete a policy attached to entities.", 409)
    if policy is not None and len(policy.versions) > 1:
        said = (
            "This policy has more than one version. Before you delete a policy, you must delete the policy's versions."
        )
        raise AwsError("DeleteConflict", said, 409)
    return moto()


AROUND = {"DeletePolicy": delete_policy}
