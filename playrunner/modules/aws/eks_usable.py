"""aws.eks_usable: nothing is built on a cluster that aws.eks_verify found a problem with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Action, Failed

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EksUsable(Action):
    """Fails with all the problems that aws.eks_verify found. It is a step of its own, which a
    deletion skips."""

    in_background: ClassVar[bool] = True

    name: str  # the cluster's name
    problems: list[str] = []  # what was found

    def guard(self, ctx: Context) -> dict[str, Any]:
        if self.problems:
            listed = "".join(f"\n- {problem}" for problem in self.problems)
            raise Failed(f"{self.name} cannot be used yet:{listed}", problems=self.problems)
        return {"msg": f"{self.name} can be used"}
