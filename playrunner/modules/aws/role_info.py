"""aws.role_info: an IAM role that is already there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Probe
from playrunner.project import program

if TYPE_CHECKING:
    from playrunner.run.context import Context


class RoleInfo(Probe):
    """A role that is already there: its `Arn`, which is empty where there is none; `problem` then
    has the remedy.

    It does not fail by itself, so that what is built on the role can still be found and deleted.
    """

    in_background: ClassVar[bool] = True

    name: str  # the role's name
    after: Any = None  # results of steps to wait for

    def look(self, ctx: Context) -> dict[str, Any]:
        answer = ctx.aws.read("iam", "get_role", missing=("NoSuchEntity",), RoleName=self.name)
        if answer is None and ctx.check:
            return {"unknown": True, "changed": False, "msg": f'there is no role "{self.name}" yet'}
        if answer is None:
            return {
                "Arn": "",
                "problem": f'there is no role "{self.name}" in the account: {program()} eks.create'
                " makes those of eks_service_accounts",
            }
        return {"Arn": str(answer["Role"]["Arn"]), "problem": ""}
