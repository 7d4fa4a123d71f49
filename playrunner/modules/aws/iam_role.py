"""aws.iam_role: a role with who may assume it and what it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.module import Failed
from playrunner.modules.aws import _iam
from playrunner.modules.aws._iam_role import Role

if TYPE_CHECKING:
    from playrunner.run.context import Context


class IamRole(Role):
    """A role that services, or principals of the trust document, may assume, with its policies."""

    services: list[str] = []  # the services that may assume it, as eks.amazonaws.com
    trust: Any = None  # instead of services: the whole trust document, or its list of statements

    def trust_document(self, ctx: Context) -> dict[str, Any]:
        if bool(self.services) == bool(self.trust):
            raise Failed(f"role {self.name}: say who may assume it, by either services or trust")
        return _iam.document(self.trust) if self.trust else _iam.trust_in_services(self.services)
