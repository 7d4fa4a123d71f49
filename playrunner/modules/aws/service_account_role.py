"""aws.service_account_role: a role that only the pods of one service account may assume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.modules.aws import _iam
from playrunner.modules.aws._iam_role import Role

if TYPE_CHECKING:
    from playrunner.run.context import Context


class ServiceAccountRole(Role):
    """A role for the pods of one service account, known by the cluster's OIDC issuer (IRSA).

    The service account carries the role's ARN in its annotation eks.amazonaws.com/role-arn.
    """

    issuer: str  # the cluster's OIDC issuer, as https://oidc.eks.REGION.amazonaws.com/id/...
    service_account: str  # the service account's name
    namespace: str = "default"  # its namespace

    def trust_document(self, ctx: Context) -> dict[str, Any]:
        arn = _iam.oidc_provider_arn(ctx, self.issuer)
        return _iam.trust_in_service_account(arn, self.issuer, self.namespace, self.service_account)
