"""IdentityModule: a thing of IAM, which belongs to no region, and carries the region of its
stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.home_region import home_region
from playrunner.cloud.owner import REGION
from playrunner.hostside.state import State
from playrunner.modules.aws._base import AwsModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class IdentityModule(AwsModule):
    """A thing of IAM; one of the same stack's name in another region is not ours."""

    def region_tag(self, ctx: Context) -> dict[str, str]:
        return {REGION: ctx.aws.region}

    def ours(self, ctx: Context, state: State) -> bool:
        return super().ours(ctx, state) and home_region(state) in ("", ctx.aws.region)

    def whose(self, ctx: Context, state: State) -> str:
        if super().ours(ctx, state):
            return (
                f"belongs to the stack {ctx.owner.cluster} in {home_region(state)}, and this run is"
                f" about {ctx.aws.region}"
            )
        return super().whose(ctx, state)
